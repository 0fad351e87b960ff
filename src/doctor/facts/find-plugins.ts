import { type HostFiles } from './host-files.js';
import { type PluginFacts, type RunningPlugin } from './machine-facts.js';
import { ageOf, isNested, readUptimeMs } from '../host/process-state.js';
import { type SeenProcess } from './process-table.js';

/** Who runs network plugins: container runtimes. Their shims do not. */
const RUNTIMES = /^(containerd$|crio$|dockerd$|node$|podloop)/;
/** Children of runtimes whose surroundings are read. */
const MAX_CHILDREN = 1_000;
const MAX_NAMED = 10;

/** The network plugins (CNI) that ran in both scans, by their CNI variables: the runtime waits for them. */
export async function findPlugins(
  files: HostFiles,
  before: readonly SeenProcess[],
  after: readonly SeenProcess[],
): Promise<PluginFacts> {
  const keyOf = ({ pid, startTicks }: SeenProcess): string => `${pid}/${startTicks}`;
  const wereThere = new Set(before.map(keyOf));
  const runtimes = new Set(after.filter(({ command }) => RUNTIMES.test(command)).map(({ pid }) => pid));
  const children = after.filter((each) => runtimes.has(each.parent) && wereThere.has(keyOf(each)));
  const upMs = await readUptimeMs(files);
  const running: RunningPlugin[] = [];
  for (const process of children.slice(0, MAX_CHILDREN)) {
    const { pid, command } = process;
    const plugin = parsePlugin((await files.find(`/proc/${pid}/environ`)) ?? '');
    if (plugin !== undefined && !(await isNested(files, pid)))
      running.push({ pid, command, ...plugin, forMs: ageOf(process, upMs) });
  }
  running.sort((a, b) => b.forMs - a.forMs);
  return { running: running.slice(0, MAX_NAMED), count: running.length };
}

/** Reads what CNI's specification puts into a plugin's environment, and nothing else that is there. */
export function parsePlugin(
  environ: string,
): Pick<RunningPlugin, 'operation' | 'sandboxId' | 'pod'> | undefined {
  const valueOf = (name: string): string | undefined =>
    environ
      .split('\0')
      .find((each) => each.startsWith(`${name}=`))
      ?.slice(name.length + 1);
  const operation = valueOf('CNI_COMMAND');
  if (operation === undefined) return undefined;
  const args = new Map(
    (valueOf('CNI_ARGS') ?? '').split(';').map((each): [string, string] => {
      const [key = '', ...value] = each.split('=');
      return [key, value.join('=')];
    }),
  );
  const [namespace, name] = [args.get('K8S_POD_NAMESPACE'), args.get('K8S_POD_NAME')];
  return {
    ...{ operation, sandboxId: valueOf('CNI_CONTAINERID') ?? '' },
    ...(namespace === undefined || name === undefined
      ? {}
      : { pod: { uid: args.get('K8S_POD_UID') ?? '', namespace, name } }),
  };
}
