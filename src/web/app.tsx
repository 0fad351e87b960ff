import { type JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type AgentFacts } from './data/agent-facts.js';
import { HistoryFeed } from './data/history-feed.js';
import { usePolled } from './data/polled.js';
import { PodsFeed } from './data/pods-feed.js';
import { openSession, type Session } from './data/session.js';
import { useStore } from './data/store.js';
import { useRoute } from './route.js';
import { Timeline } from './timeline/timeline-view.js';
import { DoctorView } from './views/doctor.js';
import { GeneratorView } from './views/generator.js';
import { NodeView } from './views/node.js';
import { PodView } from './views/pod.js';
import { PodsView } from './views/pods.js';

const VIEWS = [
  ['timeline', 'Timeline'],
  ['pods', 'Pods'],
  ['node', 'Node'],
  ['generator', 'Generator'],
  ['doctor', 'Doctor'],
] as const;
const THEME = 'podloop-theme';
const FACTS_MS = 10_000;

/** The page: a session first, then one of its views. */
export function App(): JSX.Element {
  const [opened, setOpened] = useState<Awaited<ReturnType<typeof openSession>> | undefined>();
  const [problem, setProblem] = useState<string | undefined>();
  useEffect(() => {
    openSession().then(setOpened, (error: unknown) => setProblem((error as Error).message));
  }, []);
  if (problem !== undefined) return <Locked problem={problem} />;
  if (opened === undefined)
    return (
      <main class="locked" aria-busy="true">
        <Logo />
        <p>Opening…</p>
      </main>
    );
  return <Shell session={opened.session} version={opened.version} />;
}

function Locked({ problem }: { problem: string }): JSX.Element {
  return (
    <main class="locked">
      <Logo />
      <h1>The page needs a new link</h1>
      <p>{problem[0]!.toUpperCase() + problem.slice(1)}.</p>
      <p>
        Press Enter where <code>podloop web</code> runs, or start it again, and open the link that it prints.
      </p>
    </main>
  );
}

function Shell({ session, version }: { session: Session; version: string }): JSX.Element {
  const history = useMemo(() => new HistoryFeed(session), [session]);
  const pods = useMemo(() => new PodsFeed(session, (all) => history.seed(all)), [session, history]);
  useStore(history);
  const route = useRoute();
  const facts = usePolled<AgentFacts>(session, '/agent/agent', FACTS_MS);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [view = 'timeline', namespace, name, tab] = route.parts;
  const { nodeName, runtime } = facts.value ?? {};
  const title = nodeName ?? (facts.isAbsent ? 'Observer' : 'Node');

  useEffect(() => {
    document.title = name === undefined ? `${title} – podloop` : `${name} – podloop`;
  }, [title, name]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const chosen = VIEWS[Number(event.key) - 1];
      if (chosen !== undefined) location.hash = `#/${chosen[0]}`;
      if (event.key === '?') setHelpOpen((isOpen) => !isOpen);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);

  return (
    <>
      <a class="skip" href="#main" onClick={(event) => focusMain(event)}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="#/timeline" aria-label="podloop, timeline">
          <Logo />
        </a>
        <div class="where">
          <b>{title}</b>
          {runtime?.name !== undefined && (
            <span class="muted">
              {runtime.name} {runtime.version}
            </span>
          )}
        </div>
        <nav aria-label="Views">
          {VIEWS.map(([key, label], at) => (
            <a
              key={key}
              href={`#/${key}`}
              aria-current={view === key ? 'page' : undefined}
              title={`${label} (${at + 1})`}
            >
              {label}
            </a>
          ))}
        </nav>
        <span class="spacer" />
        <Connection history={history} />
        <ThemeButton />
        <button
          type="button"
          class="icon"
          aria-label="Keys and meaning"
          title="Keys and meaning (?)"
          onClick={() => setHelpOpen(true)}
        >
          ?
        </button>
      </header>
      <Notices
        history={history}
        version={version}
        agentVersion={facts.value?.version}
        problems={facts.value?.problems ?? []}
      />
      <main id="main" tabIndex={-1}>
        {view === 'timeline' && <Timeline history={history} pods={pods} />}
        {view === 'pods' && name === undefined && <PodsView session={session} pods={pods} />}
        {view === 'pods' && namespace !== undefined && name !== undefined && (
          <PodView
            key={`${namespace}/${name}`}
            {...{ session, pods, history, namespace, name }}
            tab={tab ?? 'overview'}
            query={route.query}
          />
        )}
        {view === 'node' && <NodeView session={session} facts={facts} pods={pods} />}
        {view === 'generator' && <GeneratorView session={session} />}
        {view === 'doctor' && <DoctorView session={session} history={history} number={namespace} />}
        {!VIEWS.some(([key]) => key === view) && (
          <p class="empty">There is no such page. The views are above.</p>
        )}
      </main>
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </>
  );
}

function Connection({ history }: { history: HistoryFeed }): JSX.Element {
  const { state } = history;
  const words = { live: 'Connected', loading: 'Loading', lost: 'Disconnected' }[state];
  return (
    <span class={`connection ${state}`} role="status">
      <i aria-hidden="true" />
      {words}
    </span>
  );
}

interface NoticesProps {
  readonly history: HistoryFeed;
  readonly version: string;
  readonly agentVersion: string | undefined;
  readonly problems: readonly string[];
}

function Notices({ history, version, agentVersion, problems }: NoticesProps): JSX.Element {
  return (
    <div class="notices">
      {history.state === 'lost' && (
        <p class="notice bad" role="alert">
          <b>Disconnected.</b> What is shown is of before: {history.problem}. Trying again…
        </p>
      )}
      {agentVersion !== undefined && agentVersion !== version && (
        <p class="notice warn">
          The agent is podloop {agentVersion}, and this page is of {version}: something of it may be missing
          here.
        </p>
      )}
      {problems.slice(0, 3).map((problem) => (
        <p key={problem} class="notice warn">
          <b>Manifest:</b> {problem}
        </p>
      ))}
    </div>
  );
}

function ThemeButton(): JSX.Element {
  const [theme, setTheme] = useState(localStorage.getItem(THEME) ?? 'auto');
  useEffect(() => {
    if (theme === 'auto') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
    localStorage.setItem(THEME, theme);
    dispatchEvent(new Event('podloop-theme'));
  }, [theme]);
  const next = { auto: 'dark', dark: 'light', light: 'auto' }[theme] ?? 'auto';
  const sign = { auto: '◐', dark: '☾', light: '☀' }[theme] ?? '◐';
  return (
    <button
      type="button"
      class="icon"
      title={`Colours: ${theme}`}
      aria-label={`Colours: ${theme}; change to ${next}`}
      onClick={() => setTheme(next)}
    >
      {sign}
    </button>
  );
}

const KEYS = [
  ['1 – 5', 'the views'],
  ['/', 'filter'],
  ['← →', 'earlier and later'],
  ['+ −', 'zoom; also with the wheel on the axis, or Ctrl and the wheel'],
  ['L', 'follow what happens'],
  ['0', 'back to the last 15 minutes'],
  ['↑ ↓', 'choose a row'],
  ['[ ]', 'step through what happened in the row'],
  ['Esc', 'close'],
] as const;

const SIGNS = [
  ['bar ok', 'a container runs'],
  ['bar ended', 'it has ended with exit code 0'],
  ['bar failed', 'it has ended with another exit code'],
  ['bar pull', 'its image is pulled'],
  ['bar hang', 'a call of the runtime hangs, or a finding lasts'],
  ['sign died', 'a container died'],
  ['sign restart', 'it was restarted'],
  ['sign good', 'a probe succeeds'],
  ['sign fails', 'a probe fails'],
  ['sign event', 'a warning'],
] as const;

function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const closing = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // Back to where it was, once this is closed.
    const before = document.activeElement;
    closing.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') onClose();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [onClose]);
  return (
    <div class="veil" onClick={(event) => event.target === event.currentTarget && onClose()}>
      <div class="dialog" role="dialog" aria-modal="true" aria-label="Keys and meaning">
        <header>
          <h2>Keys and meaning</h2>
          <button type="button" class="icon" aria-label="Close" ref={closing} onClick={onClose}>
            ✕
          </button>
        </header>
        <div class="columns">
          <dl>
            {KEYS.map(([key, words]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{words}</dd>
              </div>
            ))}
          </dl>
          <dl>
            {SIGNS.map(([sign, words]) => (
              <div key={sign}>
                <dt>
                  <i class={`legend ${sign}`} aria-hidden="true" />
                </dt>
                <dd>{words}</dd>
              </div>
            ))}
          </dl>
        </div>
      </div>
    </div>
  );
}

function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect width="32" height="32" rx="8" class="tile" />
      <path d="M16 6a10 10 0 1 0 10 10" fill="none" stroke="#fff" stroke-width="3.2" stroke-linecap="round" />
      <circle cx="16" cy="16" r="3.6" fill="#fff" />
      <path d="m21.5 5 4.6 3.1-4.7 3z" fill="#fff" />
    </svg>
  );
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}
