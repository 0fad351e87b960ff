import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { type SuspensionHandlers } from '../../suspension.js';
import { type Terminal } from '../../terminal.js';
import { type PodAccess } from './pod-access.js';
import { PodScreen } from './pod-screen.js';
import { type ScreenPod } from './pod-rows.js';

/** The input of a terminal, which knows whether it is raw. */
class FakeInput extends PassThrough {
  readonly isTTY = true;
  readonly fd = -1;
  isRaw = false;

  setRawMode(isRaw: boolean): void {
    this.isRaw = isRaw;
  }
}

const web: ScreenPod = {
  pod: { uid: 'u', namespace: 'default', name: 'web' },
  ...{
    status: 'Running',
    ready: 1,
    total: 1,
    restarts: 0,
    lastRestartAtMs: undefined,
    createdAtMs: undefined,
  },
};

function setUp({ access = {}, env = {} } = {}) {
  const clock = new FakeClock();
  const stdin = new FakeInput();
  let written = '';
  const terminal: Terminal = {
    ...{ columns: 90, rows: 20 },
    write: (text) => void (written += text),
    onResize: () => () => undefined,
    onExit: () => () => undefined,
  };
  const asked: string[] = [];
  let suspension: SuspensionHandlers | undefined;
  const host = {
    ...{ clock, stdin, env, pid: 1 },
    stdout: new LineOutput(new PassThrough()),
    handleSuspension: (handlers: SuspensionHandlers) => {
      suspension = handlers;
      return { suspend: () => void asked.push('suspend'), [Symbol.dispose]: () => undefined };
    },
  } as unknown as CliHost;
  const pods = [web];
  const screen = new PodScreen({
    ...{ host, terminal, quitHelp: 'end it' },
    scene: () => ({ title: 'the title', pods, news: [], nowMs: clock.now() }),
    access: () => access as PodAccess,
    quit: () => void asked.push('quit'),
    interrupt: () => void asked.push('interrupt'),
  });
  /** What was written since the last call. */
  const take = (): string => {
    const text = written;
    written = '';
    return text;
  };
  const type = async (text: string): Promise<string> => {
    stdin.write(text);
    await clock.advance(300);
    return take();
  };
  return { screen, stdin, clock, asked, take, type, suspension: () => suspension! };
}

const LEFT = '\x1b[?7h\x1b[?25h\x1b[?1049l';

describe('a screen of pods', () => {
  it('reads keys one by one while it is there, and gives the terminal back', () => {
    const { screen, stdin, take } = setUp();
    expect(stdin.isRaw).toBe(true);
    expect(take()).toContain('the title');
    screen[Symbol.dispose]();
    expect(stdin.isRaw).toBe(false);
    expect(take()).toBe(LEFT);
  });

  it('hands Ctrl-C, Ctrl-Z and q on', async () => {
    const { screen, type, asked } = setUp();
    using _ = screen;
    await type('\x03');
    await type('\x1a');
    await type('q');
    expect(asked).toEqual(['interrupt', 'suspend', 'quit']);
  });

  it('gives the terminal back while the process is stopped', () => {
    const { screen, stdin, take, suspension } = setUp();
    using _ = screen;
    take();
    suspension().leave();
    expect([stdin.isRaw, take()]).toEqual([false, LEFT]);
    suspension().enter();
    expect(stdin.isRaw).toBe(true);
    expect(take()).toContain('the title');
  });

  it('takes a sequence that comes in two pieces for one key, and a lone Esc for Esc', async () => {
    const { screen, stdin, clock, asked, type } = setUp();
    using _ = screen;
    await type('?');
    stdin.write('\x1b');
    await clock.advance(10);
    // The rest of an arrow, which scrolls the help.
    expect(await type('[B')).not.toContain('NAMESPACE');
    expect(await type('\x1b')).toContain('NAMESPACE');
    expect(asked).toEqual([]);
  });

  it('shows details until q, and says what is wrong with them', async () => {
    let answer = Promise.resolve<readonly string[]>(['Name: web\x1b[2J', 'more']);
    const { screen, clock, take, type } = setUp({ access: { details: () => answer } });
    using _ = screen;
    expect(await type('\r')).toContain('Name: web [2J');
    answer = Promise.reject(new Error('error: no answer'));
    answer.catch(() => undefined);
    await clock.advance(2_500);
    expect(take()).toMatch(/\x1b\[1;31mno answer/);
    expect(await type('q')).toContain('NAMESPACE');
  });

  it('follows a log, container by container, without what it wants of the terminal', async () => {
    const writers: ((line: string) => void)[] = [];
    const ended: string[] = [];
    const access: Partial<PodAccess> = {
      containers: () => Promise.resolve(['server', 'helper']),
      followLog: async ({ container, isPrevious }, write, signal) => {
        writers.push(write);
        write(`${container} ${isPrevious}`);
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        ended.push(container);
      },
    };
    const { screen, clock, take, type } = setUp({ access });
    using _ = screen;
    expect(await type('l')).toContain('server false');
    writers[0]!('\x1b[31mred\x1b[0m\tand \x1b]0;title\x07more');
    await clock.advance(300);
    expect(take()).toContain('red    and more');
    expect(await type('c')).toContain('helper false');
    expect(await type('p')).toContain('helper true');
    await type('q');
    expect(ended).toEqual(['server', 'helper', 'helper']);
  });

  it('lends the terminal to a shell, and says afterwards how it failed', async () => {
    const states: boolean[] = [];
    let end: (error: Error) => void = () => undefined;
    const access: Partial<PodAccess> = {
      containers: () => Promise.resolve(['server']),
      shell: async () => {
        states.push(stdin.isRaw);
        await new Promise<void>((_, reject) => (end = reject));
      },
    };
    const { screen, stdin, clock, take, type } = setUp({ access });
    using _ = screen;
    take();
    expect(await type('s')).toBe(LEFT);
    expect(states).toEqual([false]);
    // What is typed now is for the shell.
    expect(await type('')).toBe('');
    end(new Error('there is no sh'));
    await clock.advance(300);
    expect(take()).toMatch(/^\x1b\[\?1049h[^]*shell in default\/web: there is no sh/);
    expect(stdin.isRaw).toBe(true);
    await clock.advance(7_000);
    expect(take()).toContain('? help');
  });

  it('does without colours where NO_COLOR says so', () => {
    const { screen, take } = setUp({ env: { NO_COLOR: '1' } });
    using _ = screen;
    expect(take()).not.toMatch(/\x1b\[(?:\d+;)*3\dm/);
  });
});
