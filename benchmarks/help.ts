import { type Scenario, type Setting } from './scenario.js';

/** What the help says of a scenario. */
export type HelpScenario = Pick<Scenario, 'name' | 'about' | 'runtimes' | 'settings' | 'fullMinutes'>;

/** The text of `--help`. */
export function formatHelp(scenarios: readonly HelpScenario[]): string {
  const width = Math.max(...scenarios.flatMap(({ settings }) => settings.map((one) => nameOf(one).length)));
  // Whatever the longest name is, two spaces come behind it.
  const nameWidth = Math.max(...scenarios.map(({ name }) => name.length)) + 2;
  const lines = scenarios.flatMap(({ name, about, runtimes, settings, fullMinutes }) => [
    `  ${name.padEnd(nameWidth)}${about}`,
    `  ${' '.repeat(nameWidth)}on ${runtimes}; about ${fullMinutes} min with --full`,
    ...settings.map((setting) => {
      const { about: what, short, full = short } = setting;
      const usual = full === short ? short : `${short}, with --full ${full}`;
      return `  ${' '.repeat(nameWidth + 2)}${nameOf(setting).padEnd(width)}  ${what} (${usual})`;
    }),
  ]);
  return `Usage: npm run bench -- [options] [scenario…]

Runs all scenarios whose needs are there, or those that are named; beside a kubelet only with --full, or where named.

Scenarios and their settings:
${lines.join('\n')}

Options:
  --full      more time for each, and the results are kept: benchmarks/results/, benchmarks/plots/ and benchmarks/RESULTS.md
  --keep      keep the results without --full, unless what is kept is of a full run
  --replace   keep them even in the place of a full run's, also with --full and settings that make it less
  --resume    pass over scenarios whose kept results are of this commit, length, settings and programs, and go on in the
              one that was interrupted on this machine, where it keeps what it finds part by part (kubelet, kubelet-mass,
              kubelet-hung, cluster, latency)
  --page      only make the page anew from the results that are kept, and say how many commits there were since each
  --help      this text

Tables go to stdout, progress to stderr. A kubelet to measure beside is found at KUBELET,
the programs of a control plane in the folder KUBEBUILDER_ASSETS.
`;
}

function nameOf({ name, placeholder }: Setting): string {
  return `--${name} ${placeholder}`;
}
