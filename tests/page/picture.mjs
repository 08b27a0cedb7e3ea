// A small PNG: the pixels of a screenshot with 256 colours, which is enough for a page.
import { deflateSync } from 'node:zlib';

/** Which of the palette's colours each pixel has; the palette holds the most common ones. */
const indexed = (pixels) => {
  const counts = new Map();
  const key = (at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
  for (let at = 0; at < pixels.length; at += 4) counts.set(key(at), (counts.get(key(at)) || 0) + 1);
  const palette = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 256).map(([color]) => color);
  const distance = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  const nearest = new Map(palette.map((color, place) => [color, place]));
  const place = (color) => {
    let found = nearest.get(color);
    if (found === undefined) {
      found = 0;
      for (let other = 1; other < palette.length; other += 1) if (distance(color, palette[other]) < distance(color, palette[found])) found = other;
      nearest.set(color, found);
    }
    return found;
  };
  return [palette, Uint8Array.from({ length: pixels.length / 4 }, (_, pixel) => place(key(4 * pixel)))];
};

const crc32 = (bytes) => {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
};

const chunk = (name, data) => {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
};

/** Encodes RGBA pixels. */
export const png = (width, height, pixels) => {
  const [palette, places] = indexed(pixels);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const rows = Buffer.alloc((width + 1) * height);
  for (let row = 0; row < height; row += 1) rows.set(places.subarray(row * width, (row + 1) * width), row * (width + 1) + 1);
  const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]));
  const start = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([start, chunk('IHDR', head), chunk('PLTE', colors), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
};
