/**
 * What tests of code built on podloop need: a clock and a runtime that the test drives, and builders.
 *
 * In: what the test wants to be so. Out: the same interfaces that the real parts implement. Nothing here does
 * I/O, sleeps, or depends on a test framework.
 *
 * @example
 * ```ts
 * import { Pleg } from 'podloop/pleg';
 * import { aPod, FakeClock, FakeRuntime } from 'podloop/testing';
 *
 * const clock = new FakeClock();
 * const runtime = new FakeRuntime({ clock });
 * const pleg = new Pleg({ runtime, clock });
 * const events = pleg.subscribe();
 *
 * runtime.setPod(aPod({ name: 'web', containers: ['app'] }));
 * await pleg.relist();
 * runtime.setContainer('uid-web', 'app', 'exited', { exitCode: 3 });
 * await pleg.relist();
 *
 * for await (const event of events) {
 *   if (event.type !== 'ContainerDied') continue;
 *   console.log(`${event.containerName} died with exit code ${event.exitCode}`);
 *   break;
 * }
 * ```
 *
 * @module
 */
export {
  aContainer,
  aContainerStatus,
  aPod,
  aPodStatus,
  aRuntimeEvent,
  aSandbox,
  aSandboxStatus,
  BUILT_AT_NS,
  type PodBlueprint,
} from './builders.js';
export { CallGate } from './call-gate.js';
export { FakeClock, type FakeClockOptions } from './fake-clock.js';
export { FakeEventStream } from './fake-event-stream.js';
export { type FakeCall, FakeRuntime, type FakeRuntimeOptions } from './fake-runtime.js';
export {
  type ContainerToMake,
  type PodToMake,
  RUNTIME_CONFORMANCE,
  type RuntimeConformanceCase,
  type RuntimeDriver,
} from './runtime-conformance/index.js';
