/**
 * The agent's health, in the form of Kubernetes' health endpoints.
 *
 * `ok` with 200, or with 500 a line for each check. `?verbose` also shows the lines of passed checks, and
 * `?exclude=NAME` skips a check.
 *
 * Source: https://kubernetes.io/docs/reference/using-api/health-checks/
 *
 * @module
 */
import { type ApiHandler, type ApiRequest, type TextAnswer } from '../http/api-request.js';

/** A check of present health. */
export interface HealthCheck {
  readonly name: string;
  /** Why it is not healthy; undefined when it is. Never waits: a hang must show. */
  readonly findProblem: () => string | undefined;
}

/** The checks of each endpoint. */
export interface HealthChecks {
  /** All; each also has a path of its own. */
  readonly healthz: readonly HealthCheck[];
  /** Checks that a restart of the agent may fix. */
  readonly livez: readonly HealthCheck[];
  /** Checks that must pass for pods to start. */
  readonly readyz: readonly HealthCheck[];
}

const NO_SNIFFING = { 'X-Content-Type-Options': 'nosniff' };

/**
 * A handler for each path of health.
 *
 * `showsReasons`: the lines say why, for identified clients; otherwise the reason is only at the path of the
 * check, as with a kubelet.
 */
export function healthHandlers(checks: HealthChecks, showsReasons: boolean): ReadonlyMap<string, ApiHandler> {
  const handlers = new Map<string, ApiHandler>();
  for (const name of ['healthz', 'livez', 'readyz'] as const) {
    handlers.set(`/${name}`, (request) => answerAll(name, checks[name], request, showsReasons));
    for (const check of checks[name]) handlers.set(`/${name}/${check.name}`, () => answerOne(check));
  }
  return handlers;
}

function answerAll(
  name: string,
  checks: readonly HealthCheck[],
  { query, isAnonymous = false }: ApiRequest,
  showsReasons: boolean,
): TextAnswer {
  const isTold = showsReasons && !isAnonymous;
  const excluded = new Set(query.getAll('exclude').filter((each) => each !== ''));
  const results = checks.map(({ name: check, findProblem }) => {
    if (excluded.delete(check)) return { isWell: true, line: `[+]${check} excluded: ok` };
    const problem = findProblem();
    if (problem === undefined) return { isWell: true, line: `[+]${check} ok` };
    return { isWell: false, line: `[-]${check} failed: ${isTold ? problem : 'reason withheld'}` };
  });
  const isWell = results.every((result) => result.isWell);
  const lines = results.map(({ line }) => line);
  if (excluded.size > 0) {
    const names = [...excluded].map((each) => JSON.stringify(each)).join(', ');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (isWell && !query.has('verbose')) return text(200, 'ok');
  return text(isWell ? 200 : 500, `${lines.join('\n')}\n${name} check ${isWell ? 'passed' : 'failed'}\n`);
}

function answerOne(check: HealthCheck): TextAnswer {
  const problem = check.findProblem();
  return problem === undefined ? text(200, 'ok') : text(500, `internal server error: ${problem}\n`);
}

function text(code: number, body: string): TextAnswer {
  return { kind: 'text', code, body, headers: NO_SNIFFING };
}
