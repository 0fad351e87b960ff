import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { aPlegReport } from '#support/builders/pleg-report-builder.js';
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
  return { screen, eventRow: () => /Events .*/.exec(drawn)?.[0] ?? '' };
}

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
