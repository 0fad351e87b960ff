import { type PublicManifests } from './collect-manifests.js';

/** How far an object came. */
export interface CaseResult {
  readonly collection: string;
  readonly kind: string;
  /** Undefined where no control plane was asked. */
  readonly isTaken: boolean | undefined;
  /** Why podloop does not take it, as a path of fields and what is wrong; undefined when it does. */
  readonly refusal: string | undefined;
  /** Why its stand-in does not run; undefined when it does, or was not tried. */
  readonly failure: string | undefined;
}

/** What names of pods, numbers and paths are in a sentence is left out, so that alike ones can be counted. */
export function toReason(text: string): string {
  return text
    .replaceAll(/\[\d+\]/g, '[]')
    .replaceAll(/"[^"]*"/g, '"…"')
    .replaceAll(/\/(?:[\w.-]+\/)+[\w.-]+/g, '/…')
    .replaceAll(/\bm\d+(?:-[\w-]+)?\b/g, '…')
    .replaceAll(/\d+/g, '0')
    .replaceAll('|', '/')
    .slice(0, 160);
}

/** The page of a run: counts by kind, and the reasons. */
export function renderResults(
  results: readonly CaseResult[],
  { files, unreadable, repeated }: PublicManifests,
  { date, machine }: { readonly date: string; readonly machine: string },
): string {
  const kinds = [...new Set(results.map(({ kind }) => kind))].sort();
  const isAsked = results.some(({ isTaken }) => isTaken !== undefined);
  const rows = kinds.map((kind) => {
    const all = results.filter((each) => each.kind === kind);
    const taken = all.filter(({ isTaken }) => isTaken !== false);
    const run = (list: readonly CaseResult[]): number =>
      list.filter(({ refusal, failure }) => refusal === undefined && failure === undefined).length;
    return [kind, all.length, isAsked ? taken.length : 'not asked', run(taken), run(all)];
  });
  const collections = [...new Set(results.map(({ collection }) => collection))].sort();
  return [
    '# Public manifests',
    ...(isAsked ? [summarize(results)] : []),
    'Manifests that others have published, each run by `podloop run` on the embedded runtime with stand-ins: every image and command is another one, probes and hooks succeed, ' +
      'requests of resources and scheduling gates are left out, paths of the node are below a folder of the test, as are its sockets and seccomp profiles, there are two pods at most (one where it takes ports of the node), ' +
      'containers that may not run as root have another user, and what a pod refers to is there. A CronJob runs as its Job. ' +
      'All else is as it was written. An object *runs* when all of its pods run or have ended well; what does not run among thirty others is tried again among eight, and alone where ports of the node are taken.',
    `${date}, ${machine}. Of ${files} files with pods; ${unreadable} more are no YAML, such as templates, and ${repeated} objects are in another file, too.`,
    'Made by `PODLOOP_PUBLIC_MANIFESTS=FOLDER npx vitest run test/integration/public-manifests`, where each folder in FOLDER is a collection. With `KUBEBUILDER_ASSETS` an API server is asked, too.',
    '## By kind',
    table(['kind', 'found', 'an API server takes', 'of these run', 'all that run'], rows),
    '## What an API server takes and podloop does not',
    reasons(results, ({ isTaken, refusal }) => (isTaken === false ? undefined : refusal)),
    '## What is taken and does not run',
    reasons(results, ({ isTaken, failure }) => (isTaken === false ? undefined : failure)),
    '## What podloop takes and an API server does not',
    isAsked
      ? table(
          ['kind', 'objects'],
          kinds.map((kind) => [
            kind,
            results.filter(
              (each) => each.kind === kind && each.isTaken === false && each.refusal === undefined,
            ).length,
          ]),
        )
      : 'No API server was asked.',
    '## Collections',
    table(
      ['collection', 'objects'],
      collections.map((name) => [name, results.filter(({ collection }) => collection === name).length]),
    ),
  ]
    .join('\n\n')
    .concat('\n');
}

/** The numbers of pods and workloads, in a sentence each. */
function summarize(results: readonly CaseResult[]): string {
  const ofThese = (list: readonly CaseResult[], what: string): string => {
    const taken = list.filter(({ isTaken }) => isTaken !== false);
    const refused = taken.filter(({ refusal }) => refusal !== undefined).length;
    const failed = taken.filter(({ failure }) => failure !== undefined).length;
    const run = taken.length - refused - failed;
    return `Of ${taken.length} ${what} that an API server takes, ${run} run (refused: ${refused}, not running: ${failed}).`;
  };
  const isPod = ({ kind }: CaseResult): boolean => kind === 'Pod';
  return [
    ofThese(results.filter(isPod), 'Pods'),
    ofThese(
      results.filter((each) => !isPod(each)),
      'workloads',
    ),
    'The reasons are below.',
  ].join(' ');
}

function reasons(
  results: readonly CaseResult[],
  reasonOf: (result: CaseResult) => string | undefined,
): string {
  const counts = new Map<string, number>();
  for (const each of results) {
    const reason = reasonOf(each);
    if (reason === undefined) continue;
    const key = `${each.kind}\n${toReason(reason)}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  if (counts.size === 0) return 'Nothing.';
  const rows = [...counts]
    .map(([key, count]): (string | number)[] => [...key.split('\n'), count])
    .sort((one, other) => Number(other[2]) - Number(one[2]) || (String(one) < String(other) ? -1 : 1));
  return table(['kind', 'reason', 'objects'], rows);
}

function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}
