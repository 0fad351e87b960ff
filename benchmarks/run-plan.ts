import { type Scenario, type Setting } from './scenario.js';
import { ANY_COUNT } from './setting-shapes.js';

/** What a run takes of a scenario. */
type Planned = Pick<Scenario, 'name' | 'needs' | 'settings'>;
/** The values of settings, by their names. */
export type Settings = Readonly<Record<string, string>>;

/** Those that were named; all that are short enough, or with `full` all. Throws for a name that nothing has. */
export function chooseScenarios<Each extends Planned>(
  all: readonly Each[],
  names: readonly string[],
  full: boolean,
): readonly Each[] {
  const unknown = names.find((name) => !all.some((known) => known.name === name));
  if (unknown !== undefined) throw new Error(`there is no scenario "${unknown}"; see --help`);
  if (names.length > 0) return all.filter(({ name }) => names.includes(name));
  return full ? all : all.filter(({ needs }) => !needs.includes('kubelet'));
}

/**
 * Throws for a setting that was told and that none of the chosen scenarios has, for it would change nothing; and for a
 * value that no scenario could be run with: hours may pass before the one whose it is begins.
 */
export function checkSettings(
  all: readonly Planned[],
  chosen: readonly Planned[],
  told: Readonly<Record<string, unknown>>,
): void {
  const having = (scenarios: readonly Planned[], name: string): readonly Planned[] =>
    scenarios.filter(({ settings }) => settings.some((setting) => setting.name === name));
  for (const name of Object.keys(told)) {
    const owners = having(all, name).map((owner) => owner.name);
    if (owners.length > 0 && having(chosen, name).length === 0)
      throw new Error(`--${name} is a setting of ${owners.join(', ')}, which is not to be run`);
  }
  for (const { name, takes = ANY_COUNT } of chosen.flatMap(({ settings }) => settings)) {
    const value = told[name];
    if (typeof value === 'string' && !takes.accepts(value))
      throw new Error(`--${name} ${value}: it takes ${takes.words}`);
  }
}

/** Each setting of a scenario: as told, else by the length of the run. */
export function settingsOf(
  { settings }: Pick<Planned, 'settings'>,
  told: Readonly<Record<string, unknown>>,
  full: boolean,
): Settings {
  const chosen = settings.map((setting): [string, string] => {
    const value = told[setting.name];
    return [setting.name, typeof value === 'string' ? value : full ? fullValueOf(setting) : setting.short];
  });
  return Object.fromEntries(chosen);
}

/** What is otherwise than in a full run, as it is told on the command line. */
export function listUnusual({ settings }: Pick<Planned, 'settings'>, values: Settings): readonly string[] {
  return settings
    .filter((setting) => (values[setting.name] ?? fullValueOf(setting)) !== fullValueOf(setting))
    .map(({ name }) => `--${name} ${values[name]!}`);
}

/** With --full, whatever the command line told besides: no setting may be otherwise. */
export function isFullRun(scenario: Pick<Planned, 'settings'>, values: Settings, full: boolean): boolean {
  return full && listUnusual(scenario, values).length === 0;
}

/** Whether a run may take the place of what is kept: hours of measuring are not lost to a minute of it. */
export function mayReplace(
  kept: { readonly full: boolean } | undefined,
  run: { readonly full: boolean },
): boolean {
  return run.full || kept?.full !== true;
}

function fullValueOf({ short, full = short }: Setting): string {
  return full;
}
