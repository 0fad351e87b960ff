import { expect, it } from 'vitest';
import { type PodLifecycleEvent } from '#watch';
import { type SyntheticContainer } from '#testing/synthetic-runtime/index.js';
import { DeathLedger } from './death-ledger.js';

const killed = (id: string, finishedMs: number) =>
  ({ id, finishedAtNs: BigInt(finishedMs) * 1_000_000n }) as SyntheticContainer;
const died = (containerId: string, observedAtMs: number, kind = 'container') =>
  ({ type: 'ContainerDied', kind, containerId, observedAtMs }) as PodLifecycleEvent;

it('holds each death against its event, whichever came first', () => {
  const ledger = new DeathLedger();
  ledger.noteKilled(killed('a', 1_000));
  ledger.noteEvent(died('b', 1_012));
  ledger.noteKilled(killed('b', 1_005));
  expect(ledger).toMatchObject({ deaths: 2, awaited: 1, repeated: 0, delaysMs: [7] });
  ledger.noteEvent(died('a', 1_020));
  expect(ledger).toMatchObject({ awaited: 0, delaysMs: [7, 20] });
});

it('counts what is told twice, and takes no sandbox for a container', () => {
  const ledger = new DeathLedger();
  ledger.noteKilled(killed('a', 1_000));
  ledger.noteEvent(died('s', 1_001, 'sandbox'));
  ledger.noteEvent(died('a', 1_001));
  ledger.noteEvent(died('a', 1_002));
  expect(ledger).toMatchObject({ deaths: 1, awaited: 0, repeated: 1 });
});

it('knows after thousands of other deaths that one was told of', () => {
  const ledger = new DeathLedger();
  for (let i = 0; i < 9_999; i++) ledger.noteEvent(died(`c${i}`, 1_000));
  ledger.noteEvent(died('c0', 2_000));
  expect(ledger.repeated).toBe(1);
});

it('counts events of deaths that never were', () => {
  const ledger = new DeathLedger();
  ledger.noteEvent(died('a', 1_001));
  ledger.noteEvent(died('b', 1_001));
  ledger.noteKilled(killed('a', 1_000));
  expect(ledger).toMatchObject({ deaths: 1, awaited: 0, unfounded: 1 });
});
