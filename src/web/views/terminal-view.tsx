import { type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type PodObject } from '../data/shown-pod.js';
import { type Session } from '../data/session.js';
import type { OpenTerminal, openTerminal } from '../terminal/open-terminal.js';

interface TerminalViewProps {
  readonly session: Session;
  readonly pod: PodObject;
}

/** What runs in a terminal. */
interface Run {
  readonly container: string;
  readonly command: string;
}

/** The script of terminals, which is loaded when somebody opens one. */
const SCRIPT = '/terminal.js';

/** A terminal in a container of a pod. */
export function TerminalView({ session, pod }: TerminalViewProps): JSX.Element {
  const { namespace, name } = pod.metadata;
  const names = (pod.spec?.containers ?? []).map((each) => each.name);
  const [container, setContainer] = useState(names[0] ?? '');
  const [command, setCommand] = useState('sh');
  const [run, setRun] = useState<Run | undefined>();
  const [isOpen, setOpen] = useState(false);
  const [status, setStatus] = useState('');
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (run === undefined) return undefined;
    let isOver = false;
    let close = (): void => undefined;
    const end = (why: string): void => {
      setStatus(why);
      setOpen(false);
    };
    const open = async (): Promise<void> => {
      const script = (await import(SCRIPT)) as { readonly openTerminal: typeof openTerminal };
      if (isOver) return;
      const query = new URLSearchParams({ container: run.container });
      for (const word of run.command.trim().split(/\s+/)) query.append('command', word);
      const shown: { terminal?: OpenTerminal } = {};
      const stream = session.terminal(
        `/api/v1/namespaces/${namespace}/pods/${name}/exec?${query.toString()}`,
        {
          onOpen: () => {
            setStatus('Connected.');
            if (shown.terminal !== undefined) stream.resize(shown.terminal.size);
          },
          onData: (data, onDrawn) => shown.terminal?.write(data, onDrawn),
          onEnd: (why) => {
            shown.terminal?.end();
            end(why);
          },
        },
      );
      close = () => {
        stream.close();
        shown.terminal?.close();
      };
      shown.terminal = script.openTerminal(box.current!, {
        onInput: (bytes) => stream.send(bytes),
        onSize: (size) => stream.resize(size),
      });
      shown.terminal.focus();
    };
    setStatus('Opening…');
    setOpen(true);
    open().catch((error: unknown) => {
      close();
      end((error as Error).message);
    });
    return () => {
      isOver = true;
      close();
    };
  }, [run]);

  return (
    <>
      <form
        class="tools"
        onSubmit={(event) => {
          event.preventDefault();
          setRun({ container, command });
        }}
      >
        <label>
          Container{' '}
          <select value={container} onChange={(event) => setContainer(event.currentTarget.value)}>
            {names.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label>
          Command{' '}
          <input
            class="mono"
            title="Words between blanks; a shell is not asked"
            value={command}
            onInput={(event) => setCommand(event.currentTarget.value)}
          />
        </label>
        {isOpen ? (
          <button
            key="close"
            type="button"
            onClick={() => {
              setRun(undefined);
              setOpen(false);
              setStatus('Closed.');
            }}
          >
            Close
          </button>
        ) : (
          <button key="open" type="submit" class="primary" disabled={command.trim() === ''}>
            Open a terminal
          </button>
        )}
        <span class="muted" role="status">
          {status}
        </span>
        <span class="spacer" />
        {isOpen && (
          <span class="hint">
            <kbd>Shift</kbd> <kbd>Tab</kbd> leads out of it
          </span>
        )}
      </form>
      <section
        class={run === undefined ? 'terminal-box idle' : 'terminal-box'}
        aria-label="Terminal"
        ref={box}
      />
      {run === undefined && (
        <p class="empty">
          A command runs in the container until it ends or this tab is left. The history of the node says that
          it was run, and not what was typed.
        </p>
      )}
    </>
  );
}
