import { cri, type CriClient } from '#watch';
import { isUnimplemented } from '#base/errors/errors.js';
import { isRecord } from '#base/text/is-record.js';
import { type CgroupDriver } from './config/pod-cgroup-names.js';

/** The cgroup driver that a runtime reports, and in which of its answers. */
export interface ReportedCgroupDriver {
  readonly driver: CgroupDriver;
  readonly source: 'RuntimeConfig' | 'Status';
}

const DRIVERS: ReadonlyMap<cri.CgroupDriver, CgroupDriver> = new Map([
  [cri.CgroupDriver.SYSTEMD, 'systemd'],
  [cri.CgroupDriver.CGROUPFS, 'cgroupfs'],
]);

/** The type of containerd's runtimes whose options are runc's; those of others (kata, gVisor) have no such option. */
const RUNC_TYPE = 'io.containerd.runc.v2';

/** Under these names a runtime may report its driver, in whatever case; CRI-O's own configuration uses the last. */
const DRIVER_FIELDS = ['cgroupdriver', 'cgroup_driver', 'cgroupmanager', 'cgroup_manager'];

/**
 * Errors with which runtimes answer a sandbox whose cgroup_parent is in the other driver's form, and the driver that
 * they have. A runc without systemd refuses no slice, so it has no such error: it makes a cgroup of that name.
 */
const REFUSALS: readonly (readonly [RegExp, CgroupDriver])[] = [
  // runc, by way of containerd.
  [/expected cgroupsPath to be of format\s+\W*slice:prefix:name/, 'systemd'],
  // crun: it makes the path the name of a unit, which systemd refuses.
  [/sd-bus call: (invalid unit name or type|unit name \S*\/\S* is not valid)/i, 'systemd'],
  [/configured with systemd cgroup manager, but did not receive slice/, 'systemd'],
  [/configured with cgroupfs cgroup manager, but received systemd slice/, 'cgroupfs'],
  // Docker, by way of cri-dockerd.
  [/cgroup-parent for systemd cgroup should be a valid slice/, 'systemd'],
];

/**
 * Asks a runtime for its cgroup driver: by RuntimeConfig (containerd from 2.0, CRI-O from 1.28), else by the
 * configuration in its verbose Status (containerd 1.x). Undefined for one that reports it in neither, such as CRI-O
 * before 1.28. Any other failure rejects.
 */
export async function readCgroupDriver(
  client: Pick<CriClient, 'runtimeConfig' | 'status'>,
  { signal, timeoutMs }: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
): Promise<ReportedCgroupDriver | undefined> {
  try {
    const { linux } = await client.runtimeConfig({}, { signal, timeoutMs });
    // Without Linux's part the field would read as 0, which means systemd. A peer may send a value of tomorrow.
    const driver = linux && DRIVERS.get(linux.cgroupDriver);
    if (driver !== undefined) return { driver, source: 'RuntimeConfig' };
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
  }
  const { info } = await client.status({ verbose: true }, { signal, timeoutMs });
  const driver = findDriverInStatus(info);
  return driver && { driver, source: 'Status' };
}

/** The driver by the `info` of a verbose Status; undefined where it does not say. Pure. */
export function findDriverInStatus(info: Readonly<Record<string, string>>): CgroupDriver | undefined {
  const config = parseObject(info['config']);
  if (config === undefined) return undefined;
  return findInContainerd(config) ?? findNamed(config);
}

/** The driver of a runtime by the error with which it refused a sandbox; undefined for any other error. Pure. */
export function findDriverInError(message: string): CgroupDriver | undefined {
  // As a runtime's log or a gateway may have quoted it.
  const text = message.replaceAll('\\', '');
  return REFUSALS.find(([pattern]) => pattern.test(text))?.[1];
}

/** `SystemdCgroup` of the default runtime, which is off unless somebody has set it. */
function findInContainerd(config: Readonly<Record<string, unknown>>): CgroupDriver | undefined {
  const { containerd } = config;
  if (!isRecord(containerd)) return undefined;
  const { runtimes, defaultRuntimeName } = containerd;
  const runtime = isRecord(runtimes) ? runtimes[String(defaultRuntimeName)] : undefined;
  if (!isRecord(runtime)) return undefined;
  const options = isRecord(runtime['options']) ? runtime['options'] : {};
  // The name is taken in any case by containerd, too.
  const option = Object.entries(options).find(([name]) => name.toLowerCase() === 'systemdcgroup');
  // Of old: one switch for all runtimes.
  if (option?.[1] === true || config['systemdCgroup'] === true) return 'systemd';
  return option?.[1] === false || runtime['runtimeType'] === RUNC_TYPE ? 'cgroupfs' : undefined;
}

function findNamed(config: Readonly<Record<string, unknown>>): CgroupDriver | undefined {
  const values = Object.entries(config)
    .filter(([name]) => DRIVER_FIELDS.includes(name.toLowerCase()))
    .map(([, value]) => value);
  return [...DRIVERS.values()].find((driver) => values.includes(driver));
}

function parseObject(text = ''): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
