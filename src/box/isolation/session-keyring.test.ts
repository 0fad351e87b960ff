import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type SecurityProfile_ProfileType } from '../../watch/cri/generated/runtime/v1/cri.js';
import { KEYRING_CALLS, openSessionKeyring, refusesKeyrings, renderFilter } from './session-keyring.js';

const ALLOWED = 0x7fff_0000;
const REFUSED = 0x0005_0001;

/** What a filter answers to a call, computed as the kernel does. */
function judge(filter: Buffer, architecture: number, call: number): number {
  let loaded = 0;
  for (let at = 0; ; at++) {
    const [code, value] = [filter.readUInt16LE(8 * at), filter.readUInt32LE(8 * at + 4)];
    if (code === 0x06) return value;
    if (code === 0x20) loaded = value === 4 ? architecture : call;
    if (code === 0x15) at += filter.readUInt8(8 * at + (loaded === value ? 2 : 3));
  }
}

describe.each(Object.keys(KEYRING_CALLS))('the filter for keyrings on %s', (name) => {
  const calls = KEYRING_CALLS[name]!;
  const filter = renderFilter(calls);

  it('refuses their calls in every way of calling, and allows all others', () => {
    for (const [audit, refused] of calls.refused) {
      for (let call = 0; call < 600; call++) {
        expect(judge(filter, audit, call)).toBe(refused.includes(call) ? REFUSED : ALLOWED);
      }
      for (const call of refused) expect(judge(filter, audit, call)).toBe(REFUSED);
    }
    expect(judge(filter, 1, calls.keyctl)).toBe(ALLOWED);
    expect(calls.refused[0]![1]).toContain(calls.keyctl);
  });
});

describe('refusesKeyrings', () => {
  const context = { privileged: false, seccomp: undefined, seccompProfilePath: '' };
  const profile = (profileType: SecurityProfile_ProfileType) => ({ profileType, localhostRef: '' });

  it('is so for the default profile, in both forms, unless the container is privileged', () => {
    expect(refusesKeyrings({ ...context, seccomp: profile(0) })).toBe(true);
    const older = { ...context, ['seccompProfilePath']: 'runtime/default' };
    expect(refusesKeyrings(older)).toBe(true);
    expect(refusesKeyrings({ ...context, seccomp: profile(0), privileged: true })).toBe(false);
    expect(refusesKeyrings({ ...context, seccomp: profile(1) })).toBe(false);
    expect(refusesKeyrings(context)).toBe(false);
    expect(refusesKeyrings(undefined)).toBe(false);
  });
});

describe('openSessionKeyring', () => {
  const SHARED = 'Containers share the keyrings of the runtime';
  const OPEN = 'RuntimeDefault does not refuse the use of keyrings';

  it.each<[string, Record<string, string>, string[]]>([
    ['neither program is there', {}, [SHARED]],
    ['perl does not work', { perl: 'exit 1' }, [SHARED]],
    ['both do not work', { perl: 'exit 1', keyctl: 'exit 1' }, [SHARED]],
    ['keyctl alone is there', { keyctl: 'exit 0' }, [OPEN]],
    ['perl does not work and keyctl does', { perl: 'exit 1', keyctl: 'exit 0' }, [OPEN]],
    ['perl is there', { perl: 'exit 0' }, KEYRING_CALLS[process.arch] ? [] : [SHARED]],
    [
      'perl cannot filter calls',
      { perl: 'case $2 in *filter*) exit 1 ;; esac' },
      [KEYRING_CALLS[process.arch] ? OPEN : SHARED],
    ],
  ])('warns once of what containers share where %s', async (_what, programs, expected) => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-keyrings-'));
    for (const [name, script] of Object.entries(programs)) {
      await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
      await chmod(join(folder, name), 0o755);
    }
    const warnings: string[] = [];
    const keyring = await openSessionKeyring({ warn: (message) => warnings.push(message) }, folder);
    await rm(folder, { recursive: true });
    expect(warnings).toEqual(expected);
    expect(keyring === undefined).toBe(expected[0] === SHARED);
  });
});
