import { type Answer } from './http-transport.js';

/** A list of all pods of a large node is some MiB; more is no answer of an API server. */
const LARGEST_ANSWER_BYTES = 128 * 1024 * 1024;

/** The whole of an answer. Rejects when it breaks off or is too long. */
export async function readBody({ body, findBreak }: Answer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_ANSWER_BYTES)
      throw new Error(`the answer has more than ${LARGEST_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  const broken = findBreak();
  if (broken !== undefined) throw broken;
  return Buffer.concat(chunks);
}

/** An object may have 1.5 MiB in etcd, and somewhat more as JSON. */
const LARGEST_LINE_BYTES = 32 * 1024 * 1024;
const NEWLINE = 0x0a;

/** The lines of an answer as they come, without the empty ones. Leaving the loop destroys the body; a connection that
 * breaks is an error. */
export async function* readLines({ body, findBreak }: Answer): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      begun.push(chunk.subarray(from, end));
      const line = (begun.length === 1 ? begun[0]! : Buffer.concat(begun)).toString('utf8');
      [begun, bytes, from] = [[], 0, end + 1];
      if (line !== '') yield line;
    }
    const rest = chunk.subarray(from);
    bytes += rest.length;
    if (bytes > LARGEST_LINE_BYTES) throw new Error(`an event has more than ${LARGEST_LINE_BYTES} bytes`);
    if (rest.length > 0) begun.push(rest);
  }
  const broken = findBreak();
  if (broken !== undefined) throw broken;
}
