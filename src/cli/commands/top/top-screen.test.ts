import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { aPlegReport, anInspection } from '#support/builders/pleg-report-builder.js';
import { type Terminal } from '../../terminal.js';
import { TopScreen } from './top-screen.js';
import { INITIAL_VIEW } from './top-view.js';

function setUp() {
  const clock = new FakeClock();
  let drawn = '';
  const terminal: Terminal = {
    ...{ columns: 160, rows: 30 },
    write: (text) => (drawn = text),
    onResize: () => () => undefined,
    onExit: () => () => undefined,
  };
  const screen = new TopScreen({
    ...{ terminal, title: 'test', view: INITIAL_VIEW, withColor: false, quit: () => undefined },
    host: { clock, stdin: new PassThrough() },
    report: aPlegReport({ forMs: 10_000, events: { ContainerDied: 0 } }),
  });
  return { screen, drawn: () => drawn, eventRow: () => /Events .*/.exec(drawn)?.[0] ?? '' };
}

it('shows details of the selected pod, which follow the reports, and goes back', () => {
  const { screen, drawn } = setUp();
  using _ = screen;
  const see = (key: string): string => {
    screen.press(key);
    screen.press('redraw');
    return drawn();
  };
  see('down');
  expect(see('enter')).toMatch(/Inspections {3}default\/job/);
  expect(drawn()).toContain('1, 2 failed');
  const slowestPods = [anInspection('web'), anInspection('job', { count: 9, failed: 7 })];
  screen.take(aPlegReport({ slowestPods }));
  expect(see('redraw')).toContain('9, 7 failed');
  expect(see('q')).toContain('LONGEST');
});

it('stands still while it is paused, rates and sparklines too, and is up to date once it goes on', () => {
  const { screen, eventRow } = setUp();
  using _ = screen;
  screen.press(' ');
  const paused = eventRow();
  expect(paused).toMatch(/^Events {4}0\.0\/s/);
  for (const [forMs, ContainerDied] of [
    [11_000, 5],
    [12_000, 9],
  ] as const) {
    screen.take(aPlegReport({ forMs, events: { ContainerDied } }));
    // The screen is redrawn whatever it shows.
    screen.press('redraw');
    expect(eventRow()).toBe(paused);
  }
  screen.press(' ');
  expect(eventRow()).toMatch(/^Events {4}4\.0\/s \(died 4\.0\)/);
});
