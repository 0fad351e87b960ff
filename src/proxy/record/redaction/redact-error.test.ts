import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  CreateContainerRequest,
  ListPodSandboxResponse,
  PullImageRequest,
} from '../../../watch/cri/generated/runtime/v1/cri.js';
import { hashInSlices } from './hash-in-slices.js';
import { redactError } from './redact-error.js';
import { STRICT_RULES } from './redaction-rules.js';
import { Redactor } from './redactor.js';
import { SecretBook, toSecret } from './secret-book.js';

function bookOf(...values: readonly string[]): SecretBook {
  const book = new SecretBook();
  for (const value of values) book.add(toSecret(value, false));
  return book;
}

describe('an error that is recorded', () => {
  it.each([
    [
      'get "https://s3.example.com/blobs/ab?X-Amz-Credential=AKIA&X-Amz-Signature=0f1e": 403 Forbidden',
      'get "https://s3.example.com/blobs/ab?[redacted]": 403 Forbidden',
    ],
    ['GET /v2/x?sig=abc%2F: denied', 'GET /v2/x?[redacted] denied'],
    ['dial https://me:hunter22@registry.example.com/v2/', 'dial https://[redacted]@registry.example.com/v2/'],
    ['rejected: Authorization: Bearer abc.def-ghi', 'rejected: Authorization: Bearer [redacted]'],
    ['cannot log in with basic bWU6aHVudGVyMjI=, 401', 'cannot log in with basic [redacted], 401'],
    ['bad token eyJhbGciOi.eyJzdWIi.c2ln here', 'bad token [redacted] here'],
    ['mount failed: user=me,password=hunter22,vers=3', 'mount failed: user=me,password=[redacted],vers=3'],
    [
      'failed to fetch oauth token: unexpected status: 401 Unauthorized',
      'failed to fetch oauth token: unexpected status: 401 Unauthorized',
    ],
    [
      'failed to pull "docker.io/library/web:1": not found',
      'failed to pull "docker.io/library/web:1": not found',
    ],
  ])('has no credentials that came from elsewhere: %s', async (text, expected) => {
    expect(await redactError(text, new SecretBook(), false)).toBe(expected);
  });

  it('has none of a secret that begins as another one, overlaps with it, or is a part of what is put there', async () => {
    const book = bookOf('hunter', 'hunter22', 'ter22-and-more', 'redacted');
    expect(await redactError('no hunter22-and-more, hunter', book, false)).toBe('no [redacted], [redacted]');
  });

  it('has no secret in another writing', async () => {
    const book = bookOf('say "friend"\n', 'a/b c', '--password=hunter22', '-- BEGIN\r\nabcdefgh\r\n-- END');
    const text = 'bad \'say \\"friend\\"\', at /a%2Fb%20c: hunter22, line abcdefgh';
    const kept = "bad '[redacted]', at /[redacted]: [redacted], line [redacted]";
    expect(await redactError(text, book, false)).toBe(kept);
  });

  it('has no long secret, whole or in part', async () => {
    const secret = randomBytes(10_000).toString('hex');
    expect(await redactError(`<${secret}>`, bookOf(secret), false)).toBe('<[redacted]>');
    const cut = `${'x '.repeat(32_000)}${secret}`;
    expect(await redactError(cut, bookOf(secret), false)).not.toContain(secret.slice(0, 8));
  });

  it('has nothing of a quote that does not end', async () => {
    expect(await redactError('exec: "my secret', new SecretBook(), true)).toBe('exec: "[redacted]');
    expect(await redactError('exec: "my secret\\', new SecretBook(), true)).toBe('exec: "[redacted]');
  });

  it('is read in no time, whatever it is made of', async () => {
    const hostile = ['"', '\\"', '?a', '://a', 'eyJ-', 'a-', 'basic ', 'password=', '&a=&'];
    for (const piece of hostile)
      expect(await redactError(piece.repeat(50_000), bookOf(piece.repeat(4)), true)).toContain('[redacted]');
  });
});

describe('what was taken out', () => {
  const encode = (annotations: Record<string, string>): Buffer =>
    Buffer.from(
      ListPodSandboxResponse.encode(
        ListPodSandboxResponse.fromPartial({ items: [{ id: '0'.repeat(64), annotations }] }),
      ).finish(),
    );

  it('is remembered again when it comes again, also where it need not be redacted anew', async () => {
    const book = new SecretBook();
    const redactor = new Redactor(STRICT_RULES, book);
    const list = encode({ 'example.com/token': 'opensesame' });
    await redactor.redact('ListPodSandboxResponse', list);
    // As many others, so that it is forgotten.
    for (let i = 0; i < 20_000; i++) book.add(toSecret(`other ${i}`, true));
    expect(await redactError('opensesame', book, false)).toBe('opensesame');
    await redactor.redact('ListPodSandboxResponse', list);
    expect(await redactError('opensesame', book, false)).toBe('[redacted]');
  });

  it('is not crowded out by what lists tell again and again, when it passed once', async () => {
    const book = new SecretBook();
    const redactor = new Redactor(STRICT_RULES, book);
    const request = CreateContainerRequest.fromPartial({
      config: { envs: [{ key: 'A', value: Buffer.from('opensesame') }] },
    });
    await redactor.redact(
      'CreateContainerRequest',
      Buffer.from(CreateContainerRequest.encode(request).finish()),
    );
    for (let i = 0; i < 20_000; i++) book.add(toSecret(`other ${i}`, true));
    expect(await redactError('bad opensesame', book, false)).toBe('bad [redacted]');
  });

  it('is found by the first of it when it is huge', async () => {
    const book = new SecretBook();
    const password = 'p'.repeat(2 ** 20);
    const request = PullImageRequest.encode(PullImageRequest.fromPartial({ auth: { password } })).finish();
    const kept = await new Redactor(STRICT_RULES, book).redact('PullImageRequest', Buffer.from(request));
    expect(kept.length).toBeLessThan(100);
    expect(await redactError(password.slice(0, 5_000), book, false)).toBe('[redacted]');
  });
});

describe('a hash in slices', () => {
  it.each([0, 100, 2 ** 20, 2 ** 20 + 1, 3 * 2 ** 20])(
    'is that of the whole, of %d bytes',
    async (length) => {
      const bytes = Buffer.alloc(length, 'abc');
      expect(await hashInSlices(bytes)).toBe(createHash('sha256').update(bytes).digest('base64'));
    },
  );
});
