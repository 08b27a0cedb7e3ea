//! What captures say of themselves: which events there should be, which request follows which, which reply is missing.
//! A capture is evidence, so what is not there must be said.

use super::event::Location;
use super::warnings::{Code, Loss, Tally};
use crate::call::Print;
use std::collections::HashMap;

/// The captures of a recording, by numbers that stand for their names.
#[derive(Debug, Default)]
pub(crate) struct CaptureGaps {
    captures: HashMap<u64, CaptureState>,
    requests: HashMap<u64, Request>,
}

#[derive(Debug)]
struct CaptureState {
    first: Location,
    /// The prints of its events, by their place.
    events: HashMap<u64, Print>,
    /// How many events it has by its own word, and where that stands.
    ends: Option<(u64, Location)>,
}

#[derive(Debug, Default)]
struct Request {
    /// Where it stands; without a place only its reply was met.
    at: Option<Location>,
    parents: Vec<(u64, Box<str>)>,
    replied: bool,
    /// Nanoseconds since 1970 before which its reply did not come: that of the replies it follows.
    not_before: i64,
}

impl CaptureGaps {
    fn capture(&mut self, capture: u64, at: Location) -> &mut CaptureState {
        self.captures.entry(capture).or_insert_with(|| CaptureState { first: at, events: HashMap::new(), ends: None })
    }

    /// An event. The same one once more, as in a copy of its file, is no news.
    pub(crate) fn event(&mut self, capture: u64, place: u64, print: Print, at: Location, tally: &mut Tally) {
        let known = *self.capture(capture, at).events.entry(place).or_insert(print);
        if known != print {
            tally.lose(Loss::NotEvent, at, 1, "another event of the same capture has this 'sequence'");
        }
    }

    /// The end of a capture, which says how many events it has.
    pub(crate) fn ends(&mut self, capture: u64, events: u64, at: Location) {
        self.capture(capture, at).ends = Some((events, at));
    }

    /// A request, and those whose replies it follows.
    pub(crate) fn follows(&mut self, own: u64, parents: Vec<(u64, Box<str>)>, at: Location) {
        let latest = |(parent, _): &(u64, Box<str>)| self.requests.get(parent).map(|parent| parent.not_before);
        let not_before = parents.iter().filter_map(latest).max().unwrap_or(i64::MIN);
        let request = self.requests.entry(own).or_default();
        request.at = request.at.or(Some(at));
        request.not_before = request.not_before.max(not_before);
        request.parents = parents;
    }

    /// The reply to a request.
    pub(crate) fn replied(&mut self, own: u64) {
        self.requests.entry(own).or_default().replied = true;
    }

    /// When a call of a reply was made, as the replies before it allow: clocks are set back at times.
    pub(crate) fn time(&mut self, own: u64, time: Option<i64>) -> Option<i64> {
        let request = self.requests.entry(own).or_default();
        request.not_before = request.not_before.max(time.unwrap_or(i64::MIN));
        Some(request.not_before).filter(|time| *time > i64::MIN)
    }

    /// Says what is missing.
    pub(crate) fn settle(&self, tally: &mut Tally) {
        let mut captures: Vec<&CaptureState> = self.captures.values().collect();
        captures.sort_by_key(|capture| capture.first);
        for capture in captures {
            let has = capture.events.len() as u64;
            let last = capture.events.keys().max().copied().unwrap_or(0);
            let (should, at) = match capture.ends {
                Some((events, at)) => (events.max(last), at),
                None => {
                    let what = "without its last line: the recorder was stopped, or still runs";
                    tally.warn(Code::Truncated, "unfinished capture", capture.first, 1, what);
                    (last, capture.first)
                }
            };
            if has < should {
                let what = format!("{has} of {should} events of the capture are there");
                tally.lose(Loss::EventsMissing, at, should - has, &what);
            }
        }
        let mut requests: Vec<(Location, &Request)> =
            self.requests.values().filter_map(|request| Some((request.at?, request))).collect();
        requests.sort_by_key(|(at, _)| *at);
        for (at, request) in requests {
            if !request.replied {
                let what = "what the model asked for is not known: the recorder was stopped, or still runs";
                tally.lose(Loss::ReplyMissing, at, 1, what);
            }
            for (parent, name) in &request.parents {
                if !self.requests.contains_key(parent) {
                    let what = format!("it follows the request '{name}', whose capture is not here");
                    tally.lose(Loss::RequestMissing, at, 1, &what);
                }
            }
        }
    }
}
