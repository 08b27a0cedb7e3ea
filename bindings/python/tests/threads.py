"""Whether other threads run on while Rust works."""

import threading
import time


def others_run_on(work):
    """Calls `work`, and says whether another thread got its turns meanwhile; too short a time says nothing."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        while not counted[0]:
            time.sleep(0.001)
        before, began = counted[0], time.perf_counter()
        work()
        took, during = time.perf_counter() - began, counted[0] - before
    finally:
        stop.set()
        thread.join()
    return took < 0.01 or during > 2
