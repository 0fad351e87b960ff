import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntimePort } from '#support/fakes/fake-runtime-port.js';
import { PodloopError } from '#base/errors/errors.js';
import { CallMeter } from './call-meter.js';
import { ConnectionWatch } from './connection-watch.js';

const setUp = () => {
  const clock = new FakeClock();
  const runtime = new FakeRuntimePort(clock);
  const limits = { signal: new AbortController().signal, timeoutMs: 10_000 };
  return { clock, runtime, limits, watch: new ConnectionWatch({ runtime, clock }) };
};
const gone = new PodloopError('CRI_UNAVAILABLE', 'nobody listens');

describe('ConnectionWatch', () => {
  it('tries again where that may help, and counts what was in vain', async () => {
    const { clock, runtime, limits, watch } = setUp();
    let refusals = 3;
    runtime.behave = () => (refusals-- > 0 ? gone : 0);
    const connected = watch.connect(5_000, limits);
    await clock.advance(1_000);
    expect(await connected).toEqual({ name: 'podloop-embedded', version: '0.1.0' });
    expect(watch.facts).toMatchObject({ connected: true, attempts: 4, failures: 3, code: 'CRI_UNAVAILABLE' });
  });

  it('waits for a containerd that loads its pods', async () => {
    const { clock, runtime, limits, watch } = setUp();
    let refusals = 2;
    const starting = new PodloopError('CRI_UNKNOWN', 'version: server is not initialized yet');
    runtime.behave = () => (refusals-- > 0 ? starting : 0);
    const connected = watch.connect(5_000, limits);
    await clock.advance(1_000);
    expect(await connected).toMatchObject({ name: 'podloop-embedded' });
    expect(watch.facts).toMatchObject({ connected: true, attempts: 3, failures: 0 });
  });

  it('gives up when its time is over, and at once where trying again does not help', async () => {
    const { clock, runtime, limits, watch } = setUp();
    runtime.behave = () => gone;
    const late = watch.connect(1_000, limits);
    await clock.advance(2_000);
    expect(await late).toBeUndefined();
    expect(watch.facts).toMatchObject({ connected: false, attempts: 5, failures: 5 });
    const other = setUp();
    other.runtime.behave = () => new PodloopError('ENDPOINT_PERMISSION_DENIED', 'EACCES');
    expect(await other.watch.connect(5_000, other.limits)).toBeUndefined();
    expect(other.watch.facts).toMatchObject({ attempts: 1, failures: 1, code: 'ENDPOINT_PERMISSION_DENIED' });
  });

  it('asks a runtime again and again, and holds against the connection only that it was away', async () => {
    const { clock, runtime, limits, watch } = setUp();
    const meter = new CallMeter(clock);
    const until = new AbortController();
    await watch.connect(1_000, limits);
    const pinging = watch.ping(meter, { ...limits, signal: until.signal });
    await clock.advance(950);
    runtime.behave = () => gone;
    await clock.advance(400);
    runtime.behave = () => new PodloopError('CRI_INTERNAL', 'it was not well');
    await clock.advance(200);
    until.abort();
    await pinging;
    meter.stop();
    expect(watch.facts).toMatchObject({ attempts: 9, failures: 2, error: 'nobody listens' });
    expect(meter.operations()).toMatchObject([{ method: 'Version', count: 8, failed: 3 }]);
  });

  it('counts no ping that was only given up with the examination', async () => {
    const { clock, runtime, limits, watch } = setUp();
    const meter = new CallMeter(clock);
    const until = new AbortController();
    runtime.behave = () => 'hang';
    const pinging = watch.ping(meter, { ...limits, signal: until.signal });
    await clock.advance(100);
    until.abort(new Error('it is over'));
    await pinging;
    meter.stop();
    expect(watch.facts.failures).toBe(0);
    expect(meter.calls).toEqual([]);
  });
});
