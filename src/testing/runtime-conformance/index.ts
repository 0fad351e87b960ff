/**
 * What every implementation of the Runtime interface must do, as cases that throw when it does not.
 *
 * In: a {@link RuntimeDriver}, the hand on the runtime under test. Out: named cases for whichever test framework;
 * each works in pods of its own and removes them, so that they may run beside one another and on a runtime in use.
 *
 * ```ts
 * for (const conformance of RUNTIME_CONFORMANCE) {
 *   it(conformance.title, () => conformance.run(driver, AbortSignal.timeout(30_000)));
 * }
 * ```
 *
 * @module
 */
import { randomUUID } from 'node:crypto';

import { CALL_CASES } from './call-cases.js';
import { CaseScope } from './case-scope.js';
import { CHANGE_CASES } from './change-cases.js';
import { EVENT_CASES } from './event-cases.js';
import { LIFE_CYCLE_CASES } from './life-cycle-cases.js';
import { type RuntimeDriver } from './runtime-driver.js';

/** One thing that a runtime must do. */
export interface RuntimeConformanceCase {
  /** A sentence whose subject is the runtime. */
  readonly title: string;
  /** True when it is only for runtimes with `watchEvents`. */
  readonly needsEvents: boolean;
  /** Rejects when the runtime does not do it, or has not by the time the signal aborts. */
  run(driver: RuntimeDriver, signal: AbortSignal): Promise<void>;
}

/** Every case. Those that need events must be left out for a runtime that can never have any. */
export const RUNTIME_CONFORMANCE: readonly RuntimeConformanceCase[] = [
  ...casesOf(LIFE_CYCLE_CASES, false),
  ...casesOf(CALL_CASES, false),
  ...casesOf(CHANGE_CASES, false),
  ...casesOf(EVENT_CASES, true),
];

function casesOf(
  bodies: Readonly<Record<string, (scope: CaseScope) => Promise<void>>>,
  needsEvents: boolean,
): RuntimeConformanceCase[] {
  return Object.entries(bodies).map(([title, body]) => ({
    title,
    needsEvents,
    run: async (driver, signal) => {
      await using scope = new CaseScope({ driver, signal, id: randomUUID().slice(0, 8) });
      await body(scope);
    },
  }));
}

export { type ContainerToMake, type PodToMake, type RuntimeDriver } from './runtime-driver.js';
