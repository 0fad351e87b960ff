import { REDACTED } from '#base/text/without-credentials.js';
import { describe, expect, it } from 'vitest';
import {
  ContainerStatusResponse,
  CreateContainerRequest,
  ExecSyncResponse,
  ListContainersResponse,
  PullImageRequest,
} from '../../../watch/cri/generated/runtime/v1/cri.js';
import { encodeBytesField, makeUnknownField } from '#base/wire/protobuf-fields.js';
import { type FieldSchema, MESSAGE_SCHEMAS } from '../message-schema.js';
import { redactError } from './redact-error.js';
import { redactInfo } from './redact-info.js';
import { STRICT_RULES } from './redaction-rules.js';
import { Redactor } from './redactor.js';
import { SecretBook } from './secret-book.js';

/** A message with every text it can have, at every depth; each text says where it stands. */
function makeFull(type: string, path: string): { bytes: Buffer; texts: Map<string, FieldSchema['class']> } {
  const texts = new Map<string, FieldSchema['class']>();
  const parts: Buffer[] = [];
  for (const field of MESSAGE_SCHEMAS.get(type)!.values()) {
    const canary = `${path}.${field.name}!`;
    if (field.class === 'number' || field.class === 'numbers') continue;
    if (field.class === 'message') {
      const inner = makeFull(field.type!, `${path}.${field.name}`);
      for (const [text, rule] of inner.texts) texts.set(text, rule);
      parts.push(encodeBytesField(field.number, inner.bytes));
      continue;
    }
    texts.set(canary, field.class);
    const text = Buffer.from(field.class === 'info' ? JSON.stringify({ env: [`A=${canary}`] }) : canary);
    const isMap = ['map', 'annotations', 'info'].includes(field.class);
    const entry = Buffer.concat([encodeBytesField(1, Buffer.from('name')), encodeBytesField(2, text)]);
    parts.push(encodeBytesField(field.number, isMap ? entry : text));
  }
  return { bytes: Buffer.concat(parts), texts };
}

describe('a redactor', () => {
  it.each([...MESSAGE_SCHEMAS.keys()])('keeps of %s what the table says, and nothing else', async (type) => {
    const { bytes, texts } = makeFull(type, type);
    const redactor = new Redactor(STRICT_RULES);
    const kept = (await redactor.redact(type, bytes)).toString('latin1');
    expect(redactor.redactNow(type, bytes).toString('latin1')).toBe(kept);
    for (const [text, rule] of texts)
      expect(kept.includes(text), `${text} (${rule})`).toBe(rule === 'text' || rule === 'map');
  });

  it('keeps commands, output and annotations that are asked for', async () => {
    const redactor = new Redactor({
      keepAnnotations: ['example.com/*'],
      keepCommands: true,
      keepOutput: true,
    });
    const request = CreateContainerRequest.fromPartial({
      config: {
        ...{ command: ['sh', '-c'], args: ['true'], envs: [{ key: 'A', value: Buffer.from('secret') }] },
        annotations: { 'example.com/a': 'kept', 'other.com/a': 'gone', 'io.kubernetes.container.hash': '7' },
      },
    });
    const bytes = Buffer.from(CreateContainerRequest.encode(request).finish());
    const { config } = CreateContainerRequest.decode(await redactor.redact('CreateContainerRequest', bytes));
    expect(config).toMatchObject({
      ...{ command: ['sh', '-c'], args: ['true'], envs: [{ key: 'A', value: Buffer.from(REDACTED) }] },
      annotations: { 'example.com/a': 'kept', 'other.com/a': REDACTED, 'io.kubernetes.container.hash': '7' },
    });
    const output = Buffer.from(
      ExecSyncResponse.encode({ stdout: Buffer.from('out'), stderr: Buffer.of(), exitCode: 3 }).finish(),
    );
    expect(ExecSyncResponse.decode(await redactor.redact('ExecSyncResponse', output))).toMatchObject({
      ...{ stdout: Buffer.from('out'), exitCode: 3 },
    });
    expect(redactor.counts.redacted).toBe(2);
  });

  it('leaves out what CRI v1 does not have, and what has another form, and counts it', async () => {
    const list = Buffer.from(
      ListContainersResponse.encode(
        ListContainersResponse.fromPartial({ containers: [{ id: 'one' }] }),
      ).finish(),
    );
    const asText = encodeBytesField(6, Buffer.from('a state that is a text'));
    const odd = encodeBytesField(1, Buffer.concat([encodeBytesField(1, Buffer.from('two')), asText]));
    const redactor = new Redactor(STRICT_RULES);
    const bytes = await redactor.redact(
      'ListContainersResponse',
      Buffer.concat([list, makeUnknownField(10), odd]),
    );
    expect(ListContainersResponse.decode(bytes).containers.map(({ id }) => id)).toEqual(['one', 'two']);
    expect(bytes.includes('a state')).toBe(false);
    expect(redactor.counts.unknownFields).toBe(2);
  });

  it('takes out of an item that comes again what it took out before, and counts it again', async () => {
    const one = { id: '0'.repeat(64), annotations: { 'example.com/token': 'opensesame' } };
    const list = ListContainersResponse.fromPartial({ containers: [one, { id: 'two' }] });
    const bytes = Buffer.from(ListContainersResponse.encode(list).finish());
    const redactor = new Redactor(STRICT_RULES);
    const first = await redactor.redact('ListContainersResponse', bytes);
    expect(first.includes('opensesame')).toBe(false);
    expect(redactor.counts.redacted).toBe(1);
    const other = Buffer.concat([bytes, encodeBytesField(1, encodeBytesField(1, Buffer.of(51)))]);
    const second = await redactor.redact('ListContainersResponse', other);
    expect(second.subarray(0, first.length).equals(first)).toBe(true);
    expect(ListContainersResponse.decode(second).containers.map(({ id }) => id)).toEqual([
      one.id,
      'two',
      '3',
    ]);
    expect(redactor.counts.redacted).toBe(2);
  });

  it('gives the same bytes for the same question, in whichever order it is written', async () => {
    const entry = (name: string): Buffer =>
      encodeBytesField(
        4,
        Buffer.concat([encodeBytesField(1, Buffer.from(name)), encodeBytesField(2, Buffer.of(65))]),
      );
    const id = encodeBytesField(1, Buffer.from('id'));
    const redactor = new Redactor(STRICT_RULES);
    const one = await redactor.redact('ContainerFilter', Buffer.concat([entry('a'), entry('b'), id]));
    const other = await redactor.redact('ContainerFilter', Buffer.concat([id, entry('b'), entry('a')]));
    expect(one.equals(other)).toBe(true);
  });

  it('refuses bytes that are no message', async () => {
    const redactor = new Redactor(STRICT_RULES);
    await expect(redactor.redact('VersionRequest', Buffer.from([0x0a, 0x7f, 1]))).rejects.toThrow(RangeError);
  });

  it('takes what was in requests out of errors, and what runtimes quote', async () => {
    const book = new SecretBook();
    const redactor = new Redactor(STRICT_RULES, book);
    const request = PullImageRequest.fromPartial({ auth: { username: 'me', password: 'hunter22' } });
    redactor.redactNow('PullImageRequest', Buffer.from(PullImageRequest.encode(request).finish()));
    expect(await redactError('401 for hunter22 of "me"', book, false)).toBe(`401 for ${REDACTED} of "me"`);
    const id = `"${'0a'.repeat(32)}"`;
    expect(await redactError(`exec: "pass\\"word": not found in ${id}`, book, true)).toBe(
      `exec: "${REDACTED}": not found in ${id}`,
    );
  });

  it('keeps of verbose answers the shape, numbers and a few names', async () => {
    const info = {
      ...{
        sandboxID: 's1',
        pid: 7,
        runtimeSpec: { process: { args: ['p'], env: ['A=b'], user: { uid: 0 } } },
      },
      config: { envs: [{ key: 'A', value: 'Yg==' }], labels: { state: 'x' }, metadata: { name: 'app' } },
    };
    const text = JSON.stringify(info);
    expect(JSON.parse(redactInfo(text))).toEqual({
      ...{ sandboxID: 's1', pid: 7 },
      runtimeSpec: { process: { args: [REDACTED], env: [REDACTED], user: { uid: 0 } } },
      config: {
        envs: [{ key: REDACTED, value: REDACTED }],
        labels: { state: REDACTED },
        metadata: { name: REDACTED },
      },
    });
    expect(redactInfo('no JSON, A=b')).toBe(REDACTED);
    const answer = ContainerStatusResponse.fromPartial({ info: { info: text } });
    const bytes = Buffer.from(ContainerStatusResponse.encode(answer).finish());
    const kept = await new Redactor(STRICT_RULES).redact('ContainerStatusResponse', bytes);
    expect(JSON.parse(ContainerStatusResponse.decode(kept).info['info']!)).toMatchObject({ pid: 7 });
  });
});
