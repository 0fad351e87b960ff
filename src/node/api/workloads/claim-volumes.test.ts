import { describe, expect, it } from 'vitest';
import { type Removed } from '../objects/delete-object.js';
import { type NodeVolumes, removeVolume, removeWithVolume, type ServedVolume } from './claim-volumes.js';

const NAMED = { namespace: 'default', name: 'data' };

const aVolume = (...usedBy: string[]): ServedVolume => ({
  ...{ ...NAMED, uid: 'u', createdAtMs: 0, accessModes: ['ReadWriteOnce'], path: '/claims/data', usedBy },
});

function setUp({ volume, note }: { readonly volume?: ServedVolume; readonly note?: string } = {}) {
  const removed: object[] = [];
  const volumes: NodeVolumes = {
    list: () => (volume === undefined ? [] : [volume]),
    measure: async () => Promise.resolve(0n),
    remove: async (claim) => {
      removed.push(claim);
      return Promise.resolve(volume === undefined ? 'not found' : 'removed');
    },
    comesBackBy: () => note,
  };
  return { removed, volumes };
}

const object = { kind: 'PersistentVolumeClaim', ...NAMED, isDryRun: false } as const;
const inFile: Removed = { kind: 'removed' };
const { signal } = new AbortController();

describe('a claim that is removed', () => {
  it.each<[string, Removed]>([
    ['a manifest had', inFile],
    ['no manifest had', { kind: 'not found' }],
  ])('goes with its volume, if %s it', async (_, result) => {
    const { removed, volumes } = setUp({ volume: aVolume() });
    const remove = removeWithVolume(async () => Promise.resolve(result), volumes);
    expect(await remove(object, signal)).toEqual({ kind: 'removed' });
    expect(removed).toEqual([{ ...object, isForGood: true }]);
  });

  it('stays, with its manifest, while a pod has it', async () => {
    const { removed, volumes } = setUp({ volume: aVolume('db-0', 'web') });
    const remove = removeWithVolume(async () => Promise.reject(new Error('not this')), volumes);
    expect(await remove(object, signal)).toEqual({
      ...{
        kind: 'refused',
        reason: 'Conflict',
        message: expect.stringMatching(
          /^it is in use by db-0, web: end it first, by "podloop delete/,
        ) as string,
      },
    });
    expect(removed).toEqual([]);
  });

  it('stays while a pod is stopped that has it', async () => {
    const { volumes } = setUp({ volume: aVolume('web (stopped)') });
    const remove = removeWithVolume(async () => Promise.reject(new Error('not this')), volumes);
    expect(await remove(object, signal)).toMatchObject({
      message: 'it is in use by web (stopped): start it and delete it first, or remove its manifest',
    });
  });

  it('stays where its manifest has to, and when that is only tried', async () => {
    const { removed, volumes } = setUp({ volume: aVolume() });
    const refused = { kind: 'refused', reason: 'Conflict', message: 'it is in a.yaml' } as const;
    expect(await removeWithVolume(async () => Promise.resolve(refused), volumes)(object, signal)).toBe(
      refused,
    );
    const tried = removeWithVolume(async () => Promise.resolve(inFile), volumes);
    expect(await tried({ ...object, isDryRun: true }, signal)).toEqual(inFile);
    expect(removed).toEqual([]);
  });

  it('is not found when there is neither a manifest nor a volume', async () => {
    const remove = removeWithVolume(async () => Promise.resolve({ kind: 'not found' }), setUp().volumes);
    expect(await remove(object, signal)).toEqual({ kind: 'not found' });
  });

  it('says why it comes back', async () => {
    const note = 'an empty volume is made again, as the StatefulSet default/db has this claim';
    const { volumes } = setUp({ volume: aVolume(), note });
    const remove = removeWithVolume(async () => Promise.resolve(inFile), volumes);
    expect(await remove(object, signal)).toEqual({ kind: 'removed', note });
    const answer = await removeVolume(volumes)({
      ...{ method: 'DELETE', path: '/', query: new URLSearchParams(), headers: {}, params: NAMED, signal },
      readBody: async () => Promise.resolve(undefined),
    });
    expect(answer).toMatchObject({ headers: { warning: `299 - "${note}"` } });
  });

  it('says what became of a file that somebody has written by hand, also when that is only tried', async () => {
    const ofFile = 'its manifest /m/mine.yaml was removed';
    const byHand = async (): Promise<Removed> => Promise.resolve({ kind: 'removed', note: ofFile });
    const { volumes } = setUp({ volume: aVolume() });
    const expected = { kind: 'removed', note: ofFile };
    expect(await removeWithVolume(byHand, volumes)(object, signal)).toEqual(expected);
    expect(await removeWithVolume(byHand, volumes)({ ...object, isDryRun: true }, signal)).toEqual(expected);
    const note = 'an empty volume is made again';
    const { volumes: again } = setUp({ volume: aVolume(), note });
    expect(await removeWithVolume(byHand, again)(object, signal)).toEqual({
      kind: 'removed',
      note: `${ofFile}; ${note}`,
    });
  });

  it('passes on what is no claim', async () => {
    const { removed, volumes } = setUp({ volume: aVolume() });
    const remove = removeWithVolume(async () => Promise.resolve(inFile), volumes);
    expect(await remove({ ...object, kind: 'ConfigMap' }, signal)).toBe(inFile);
    expect(removed).toEqual([]);
  });
});
