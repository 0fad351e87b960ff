import {
  authAnswerGiven,
  authFetchEnded,
  type AuthQuestionKind,
  authReviewEnded,
} from '#base/channels/auth-channels.js';
import { DEFAULT_BUCKETS } from '../registry/buckets.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The number of cached answers of one kind, and of pending questions. */
export interface DelegatedAuthState {
  readonly kept: number;
  /** Answers that were evicted early, as there were too many. */
  readonly folded: number;
  /** Questions that were not sent, or given up, as too many were under way. */
  readonly refused: number;
  readonly asked: number;
  /** Callers that wait for the answer to somebody else's question. */
  readonly waiting: number;
}

/** The present state by kind of question; undefined for a kind that is never asked. */
export type ReadDelegatedAuth = () => Readonly<Record<AuthQuestionKind, DelegatedAuthState | undefined>>;

/** The buckets of the API machinery that kubelets share with API servers, in seconds. */
const REVIEW_SECONDS = [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10] as const;
/** The code of a request without an answer. */
const NO_CODE = '<error>';
const KINDS: readonly AuthQuestionKind[] = ['authn', 'authz'];

/** Counts the questions to an API server about clients of the node, and those that the cache answered. */
export function addDelegatedAuthMetrics(registry: MetricsRegistry, read: ReadDelegatedAuth): void {
  for (const kind of KINDS) addReviews(registry, kind);
  addTokens(registry, read);
  addAnswers(registry, read);
}

function addReviews(registry: MetricsRegistry, kind: AuthQuestionKind): void {
  const review = kind === 'authn' ? 'TokenReviews' : 'SubjectAccessReviews';
  const total = registry.counter({
    name: `apiserver_delegated_${kind}_request_total`,
    help: `${review} that were sent to the API server, by the code of the answer.`,
    labels: ['code'],
  });
  const duration = registry.histogram(
    {
      name: `apiserver_delegated_${kind}_request_duration_seconds`,
      help: `How long ${review} took.`,
      labels: ['code'],
    },
    REVIEW_SECONDS,
  );
  registry.listen(authReviewEnded, (end) => {
    if (end.kind !== kind) return;
    const code = end.code === undefined ? NO_CODE : String(end.code);
    total.inc({ code });
    duration.observe({ code }, end.durationMs / 1_000);
  });
}

function addTokens(registry: MetricsRegistry, read: ReadDelegatedAuth): void {
  const wanted = registry.counter({
    name: 'authentication_token_cache_request_total',
    help: 'Lookups of the owner of a token, by whether the answer was cached: hit, miss.',
    labels: ['status'],
  });
  const duration = registry.histogram(
    {
      name: 'authentication_token_cache_request_duration_seconds',
      help: 'How long it took to know whose a token is.',
      labels: ['status'],
    },
    DEFAULT_BUCKETS,
  );
  const fetches = registry.counter({
    name: 'authentication_token_cache_fetch_total',
    help: 'Reviews of tokens by the API server, by result: ok, error.',
    labels: ['status'],
  });
  registry.listen(authAnswerGiven, ({ kind, wasKept, durationMs }) => {
    if (kind !== 'authn') return;
    const status = wasKept ? 'hit' : 'miss';
    wanted.inc({ status });
    duration.observe({ status }, durationMs / 1_000);
  });
  registry.listen(authFetchEnded, ({ kind, failed }) => {
    if (kind === 'authn') fetches.inc({ status: failed ? 'error' : 'ok' });
  });
  registry.readGauge(
    {
      name: 'authentication_token_cache_active_fetch_count',
      help: 'Reviews of tokens under way: in_flight; requests that wait for one: blocked.',
      labels: ['status'],
    },
    () => {
      const { asked = 0, waiting = 0 } = read().authn ?? {};
      return [
        { labels: { status: 'blocked' }, value: waiting },
        { labels: { status: 'in_flight' }, value: asked },
      ];
    },
  );
}

function addAnswers(registry: MetricsRegistry, read: ReadDelegatedAuth): void {
  const looks = registry.counter({
    name: 'podloop_auth_answers_total',
    help: 'Answers about clients of the node, by kind (authn, authz) and origin: kept (cached), asked, failed.',
    labels: ['kind', 'from'],
  });
  registry.listen(authAnswerGiven, ({ kind, wasKept, failed }) => {
    looks.inc({ kind, from: wasKept ? 'kept' : failed ? 'failed' : 'asked' });
  });
  const byKind = (value: keyof DelegatedAuthState) => () => {
    const state = read();
    return KINDS.map((kind) => ({ labels: { kind }, value: state[kind]?.[value] ?? 0 }));
  };
  registry.readGauge(
    {
      name: 'podloop_auth_answers_kept',
      help: 'Cached answers about clients of the node, by kind.',
      labels: ['kind'],
    },
    byKind('kept'),
  );
  registry.readCounter(
    {
      name: 'podloop_auth_answers_folded_total',
      help: 'Answers that went before their time, as there were too many, by kind.',
      labels: ['kind'],
    },
    byKind('folded'),
  );
  registry.readCounter(
    {
      name: 'podloop_auth_questions_refused_total',
      help: 'Questions that the API server was not asked, or that were given up, as too many were under way, by kind.',
      labels: ['kind'],
    },
    byKind('refused'),
  );
}
