import { describe, expect, it } from 'vitest';
import { reflectorHarness } from '#support/harness/reflector-harness.js';

describe('the watch of a reflector', () => {
  it('takes a watch that says nothing any more for dead, and goes on where it stopped', async () => {
    const { api, start, stop, clock, reflector } = reflectorHarness();
    await start();
    await clock.advance(60_000);
    api.passVersions(1);
    api.sendBookmarks();
    await clock.advance(149_000);
    expect(reflector.stats.watches).toBe(1);
    await clock.advance(2_000);
    expect(reflector.stats).toMatchObject({ watches: 2, lists: 1, failures: 0 });
    expect(api.watchRequests.at(-1)?.query['resourceVersion']).toBe('101');
    expect(api.openWatches).toBe(1);
    await stop();
    expect(api.openWatches).toBe(0);
  });

  it('lists all after a watch that has said nothing at all, no older than what it knew', async () => {
    const { api, told, start, stop, clock, reflector } = reflectorHarness();
    await start();
    await clock.advance(149_000);
    expect(reflector.stats).toMatchObject({ watches: 1, lists: 1 });
    await clock.advance(2_000);
    expect(api.reads.at(-1)?.query).toEqual({ resourceVersion: '100', resourceVersionMatch: 'NotOlderThan' });
    expect(reflector.stats).toMatchObject({ watches: 2, lists: 2, failures: 0, expired: 0 });
    expect(told).toEqual(['replace  @100', 'replace  @100']);
    await stop();
  });

  it('lists all as well where something in between ends each watch that says nothing before it does', async () => {
    const { api, start, stop, clock, reflector } = reflectorHarness();
    await start();
    for (let minute = 1; minute <= 3; minute++) {
      expect(reflector.stats).toMatchObject({ watches: minute, lists: 1 });
      await clock.advance(60_000);
      api.endWatches();
      await clock.settle();
    }
    expect(reflector.stats).toMatchObject({ lists: 2, failures: 0 });
    await stop();
  });

  it('lists nothing anew while the server says each minute how far it is', async () => {
    const { api, start, stop, clock, reflector } = reflectorHarness();
    await start();
    for (let minute = 0; minute < 60; minute++) {
      await clock.advance(60_000);
      api.passVersions(1);
      api.sendBookmarks();
      await clock.settle();
    }
    expect(reflector.stats).toMatchObject({ lists: 1, bookmarks: 60, failures: 0 });
    await stop();
  });

  it('lists anew when told that answers do not go with its watch, and not twice in half a minute', async () => {
    const { api, told, put, start, stop, clock, reflector } = reflectorHarness();
    await start();
    put('one');
    await clock.advance(29_000);
    reflector.listAgain();
    await clock.settle();
    expect(reflector.stats).toMatchObject({ watches: 1, lists: 1 });
    await clock.advance(1_000);
    reflector.listAgain();
    reflector.listAgain();
    await clock.settle();
    expect(reflector.stats).toMatchObject({ watches: 2, lists: 2, failures: 0 });
    expect(told).toEqual(['replace  @100', 'upsert one', 'replace one @101']);
    expect(api.openWatches).toBe(1);
    put('two');
    await clock.settle();
    expect(told.at(-1)).toBe('upsert two');
    await stop();
  });

  it('lists anew when half a minute is over where it was told so before', async () => {
    const { api, told, put, start, stop, clock, reflector } = reflectorHarness();
    const backup = api.backUp();
    put('ghost');
    await start();
    // Versions count on from the backup: there is nothing in the watch by which it could be told.
    api.restore(backup);
    api.passVersions(10);
    reflector.listAgain();
    reflector.listAgain();
    await clock.advance(29_000);
    expect([reflector.stats.lists, told]).toEqual([1, ['replace ghost @101']]);
    await clock.advance(1_000);
    expect(told.at(-1)).toBe('replace  @110');
    await clock.advance(60_000);
    expect(reflector.stats.lists).toBe(2);
    await stop();
  });
});
