import { type JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useAgentFacts } from './data/agent-facts.js';
import { HistoryFeed } from './data/history-feed.js';
import { usePolled } from './data/polled.js';
import { PodsFeed } from './data/pods-feed.js';
import { findKey, type Opened, openSession, type Session } from './data/session.js';
import { useStore } from './data/store.js';
import { Help, HelpButton, Logo, SkipLink, ThemeButton, useKeys } from './frame.js';
import { RecordedShell } from './recorded-shell.js';
import { useRoute } from './route.js';
import { formatSpan } from './time-text.js';
import { Timeline } from './timeline/timeline-view.js';
import { type Band } from './timeline/timeline-source.js';
import { DoctorView, type Incidents, INCIDENTS_MS } from './views/doctor.js';
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
/** Clocks that differ by less mislead nobody. */
const MAX_AHEAD_MS = 15_000;

/** The page: a session first, then one of its views. */
export function App(): JSX.Element {
  const [opened, setOpened] = useState<Opened | undefined>();
  const [problem, setProblem] = useState<string | undefined>();
  useEffect(() => {
    openSession().then(setOpened, (error: unknown) => setProblem((error as Error).message));
    // A link that is pasted into the address of an open page loads nothing by itself.
    const onHash = (): void => {
      if (findKey() !== undefined) location.reload();
    };
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  if (problem !== undefined) return <Locked problem={problem} />;
  if (opened?.recorded !== undefined) return <RecordedShell recorded={opened.recorded} />;
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
  const facts = useAgentFacts(session);
  const [isHelpOpen, setHelpOpen] = useKeys((digit) => {
    const chosen = VIEWS[digit - 1];
    if (chosen !== undefined) location.hash = `#/${chosen[0]}`;
  });
  const [view = 'timeline', namespace, name, tab] = route.parts;
  const { nodeName, runtime, isObserver } = facts;
  const title = nodeName ?? (isObserver ? 'Observer' : 'Node');

  useEffect(() => {
    document.title = name === undefined ? `${title} – podloop` : `${name} – podloop`;
  }, [title, name]);
  return (
    <>
      <SkipLink />
      <header class="top">
        <a class="brand" href="#/timeline" aria-label="podloop, timeline">
          <Logo />
        </a>
        <div class="where">
          <b>{title}</b>
          {runtime?.name !== undefined && (
            <span class="muted">
              {isObserver && 'observed, '}
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
        <HelpButton onClick={() => setHelpOpen(true)} />
      </header>
      <Notices
        history={history}
        version={version}
        agentVersion={facts.version}
        problems={facts.problems ?? []}
        aheadMs={session.aheadMs}
      />
      <main id="main" tabIndex={-1}>
        {view === 'timeline' && <NodeTimeline {...{ session, history, pods }} isOfObserver={isObserver} />}
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
          <section class="empty">
            <h1>There is no such page</h1>
            <p>The views are above.</p>
          </section>
        )}
      </main>
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </>
  );
}

interface NodeTimelineProps {
  readonly session: Session;
  readonly history: HistoryFeed;
  readonly pods: PodsFeed;
  readonly isOfObserver: boolean;
}

/** The timeline of the node; that of an observer has the incidents that it records. */
function NodeTimeline({ session, history, pods, isOfObserver }: NodeTimelineProps): JSX.Element {
  const path = isOfObserver ? '/agent/incidents' : undefined;
  const { value } = usePolled<Incidents>(session, path, INCIDENTS_MS);
  const bands = useMemo(
    () =>
      (value?.items ?? []).map(({ id, beganAt, endedAt, lastSeenAt }): Band => {
        const until = endedAt ?? lastSeenAt;
        const toMs = until === undefined ? undefined : Date.parse(until);
        return { label: `Incident ${id}`, fromMs: Date.parse(beganAt), toMs };
      }),
    [value],
  );
  return <Timeline {...{ history, pods, bands }} />;
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
  /** How far the clock of the server is ahead of the browser's. */
  readonly aheadMs: number;
}

function Notices({ history, version, agentVersion, problems, aheadMs }: NoticesProps): JSX.Element {
  return (
    <section class="notices" aria-label="Notices">
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
      {Math.abs(aheadMs) > MAX_AHEAD_MS && (
        <p class="notice warn">
          The clock of this browser is {formatSpan(Math.abs(aheadMs))} {aheadMs > 0 ? 'behind' : 'ahead of'}{' '}
          that of the machine that serves the page: ages and the line of now are wrong by as much.
        </p>
      )}
      {problems.slice(0, 3).map((problem) => (
        <p key={problem} class="notice warn">
          <b>Manifest:</b> {problem}
        </p>
      ))}
    </section>
  );
}
