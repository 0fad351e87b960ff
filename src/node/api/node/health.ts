/**
 * Whether the agent is well, in the words of Kubernetes' health endpoints.
 *
 * `ok` with 200, or with 500 a line for each check. `?verbose` shows the lines of what is well, too, and `?exclude=NAME`
 * passes a check over.
 *
 * Source: https://kubernetes.io/docs/reference/using-api/health-checks/
 *
 * @module
 */
import { type ApiHandler, type ApiRequest, type TextAnswer } from '../http/api-request.js';

/** Something that is well or not, as of now. */
export interface HealthCheck {
  readonly name: string;
  /** Why it is not well; undefined when it is. Never waits: a hang must show. */
  readonly findProblem: () => string | undefined;
}

/** Which checks each endpoint makes. */
export interface HealthChecks {
  /** All; each has a path of its own, too. */
  readonly healthz: readonly HealthCheck[];
  /** Those that a restart of the agent may mend. */
  readonly livez: readonly HealthCheck[];
  /** Those that must hold for pods to be started. */
  readonly readyz: readonly HealthCheck[];
}

const NO_SNIFFING = { 'X-Content-Type-Options': 'nosniff' };

/**
 * A handler for each path of health. `showsReasons`: the lines say why, for those who have shown who they are; else the
 * reason stands at the path of the check alone, as with a kubelet.
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
