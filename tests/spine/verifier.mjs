// The vectors seen by a second language: prints the leaves, the roots and the re-encoded payloads as JSON.
//   node verifier.mjs envelope-vectors.json
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

// RFC 8785: JSON.stringify spells numbers and text, and sort() orders by UTF-16 units.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join(",")}}`;
}

function root(leaves) {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0];
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(Buffer.of(1), root(leaves.slice(0, split)), root(leaves.slice(split)));
}

const { events, log, spec } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const ends = new Map();
const leaves = [];
const digests = [];
for (const { event, recorded_at, seq, stream, salt, payload, metadata } of events) {
  const prev = ends.get(stream) ?? "0".repeat(64);
  const leaf = sha256(Buffer.of(0), canonical({ event, log, prev, recorded_at, seq, spec, stream }));
  ends.set(stream, leaf.toString("hex"));
  leaves.push(leaf);
  const digest = (prefix, text) => (text === null ? "" : sha256(Buffer.of(prefix), Buffer.from(salt, "hex"), text).toString("hex"));
  digests.push({ payload: digest(2, payload), metadata: digest(3, metadata) });
}
const again = (text) => (text === null ? null : canonical(JSON.parse(text)));
console.log(JSON.stringify({
  leaves: leaves.map((leaf) => leaf.toString("hex")),
  roots: Array.from({ length: leaves.length + 1 }, (_, size) => root(leaves.slice(0, size)).toString("hex")),
  payloads: events.map(({ payload }) => again(payload)),
  digests,
}));
