import { type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import {
  LARGEST_BODY_BYTES,
  JSON_PATCH,
  MERGE_PATCH,
  readJsonBody,
  STRATEGIC_MERGE_PATCH,
} from './request-body.js';

function aRequest(body: string | Buffer, headers: Readonly<Record<string, string>> = {}): IncomingMessage {
  return Object.assign(Readable.from([Buffer.from(body)]), { headers }) as unknown as IncomingMessage;
}

describe('the body of a request', () => {
  it('is JSON, or nothing', async () => {
    expect(await readJsonBody(aRequest('{"a":1}'))).toEqual({ a: 1 });
    expect(await readJsonBody(aRequest(''))).toBeUndefined();
  });

  it('that is no JSON is refused without a word of it, as it may be a Secret', async () => {
    for (const body of ['{"stringData":{"key":hunter2}}', 'hunter2', Buffer.from([0x22, 0xff, 0x22])]) {
      await expect(readJsonBody(aRequest(body))).rejects.toThrow(/^the body is no JSON$/);
    }
  });

  it('is refused when it is nested so deep that nobody could go through it', async () => {
    const nested = (depth: number): string => `${'['.repeat(depth)}"[[{\\"["${']'.repeat(depth)}`;
    await expect(readJsonBody(aRequest(nested(100)))).resolves.toBeDefined();
    for (const depth of [101, 200_000]) {
      await expect(readJsonBody(aRequest(nested(depth)))).rejects.toMatchObject({ reason: 'BadRequest' });
    }
  });

  it('of another type is refused', async () => {
    const request = aRequest('a: 1', { 'content-type': 'application/yaml' });
    await expect(readJsonBody(request)).rejects.toMatchObject({ reason: 'UnsupportedMediaType' });
  });

  it('is a patch of a kind that is known, where it is one', async () => {
    const aPatch = (type: string): IncomingMessage =>
      Object.assign(aRequest('{"a":1}', { 'content-type': type }), { method: 'PATCH' });
    for (const type of [JSON_PATCH, MERGE_PATCH, `${STRATEGIC_MERGE_PATCH}; charset=utf-8`])
      expect(await readJsonBody(aPatch(type))).toEqual({ a: 1 });
    for (const type of ['application/json', 'application/apply-patch+yaml'])
      await expect(readJsonBody(aPatch(type))).rejects.toThrow(
        `unknown format - accepted media types include: ${JSON_PATCH}, ${MERGE_PATCH}, ${STRATEGIC_MERGE_PATCH}`,
      );
  });

  it('is refused when it is too large, whatever it says of its length', async () => {
    const large = Buffer.alloc(LARGEST_BODY_BYTES + 1, ' ');
    for (const length of [undefined, '2', String(large.length)]) {
      const headers: Record<string, string> = length === undefined ? {} : { 'content-length': length };
      await expect(readJsonBody(aRequest(large, headers))).rejects.toMatchObject({
        reason: 'RequestEntityTooLarge',
      });
    }
  });
});
