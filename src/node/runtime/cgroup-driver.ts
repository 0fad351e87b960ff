import { cri, type CriClient } from '#watch';
import { isUnimplemented } from '#base/errors/errors.js';
import { isRecord } from '#base/text/is-record.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';
import { type CgroupDriver } from './config/pod-cgroup-names.js';

/** The cgroup driver that a runtime reports, and which of its answers it comes from. */
export interface ReportedCgroupDriver {
  readonly driver: CgroupDriver;
  readonly source: 'RuntimeConfig' | 'Status';
}

const DRIVERS: ReadonlyMap<cri.CgroupDriver, CgroupDriver> = new Map([
  [cri.CgroupDriver.SYSTEMD, 'systemd'],
  [cri.CgroupDriver.CGROUPFS, 'cgroupfs'],
]);

/** The type of containerd's runtimes with runc's options; others (kata, gVisor) have no such option. */
const RUNC_TYPE = 'io.containerd.runc.v2';

/**
 * Names under which a runtime may report its driver, in any case; CRI-O's own configuration uses the last.
 */
const DRIVER_FIELDS = ['cgroupdriver', 'cgroup_driver', 'cgroupmanager', 'cgroup_manager'];

/**
 * Errors with which runtimes refuse a sandbox whose cgroup_parent has the other driver's form, and their
 * driver.
 *
 * A runc without systemd accepts a slice and creates a cgroup of that name, so it has no such error.
 */
const REFUSALS: readonly (readonly [RegExp, CgroupDriver])[] = [
  // runc, through containerd.
  [/expected cgroupsPath to be of format\s+\W*slice:prefix:name/, 'systemd'],
  // crun: it uses the path as the name of a unit, which systemd refuses.
  [/sd-bus call: (invalid unit name or type|unit name \S*\/\S* is not valid)/i, 'systemd'],
  [/configured with systemd cgroup manager, but did not receive slice/, 'systemd'],
  [/configured with cgroupfs cgroup manager, but received systemd slice/, 'cgroupfs'],
  // Docker, through cri-dockerd.
  [/cgroup-parent for systemd cgroup should be a valid slice/, 'systemd'],
];

/**
 * Asks a runtime for its cgroup driver, by RuntimeConfig or else by the configuration in its verbose Status.
 *
 * RuntimeConfig exists in containerd from 2.0 and CRI-O from 1.28; containerd 1.x has it in its Status.
 * Undefined for a runtime that reports it in neither, such as CRI-O before 1.28. Any other failure rejects.
 */
export async function readCgroupDriver(
  client: Pick<CriClient, 'runtimeConfig' | 'status'>,
  { signal, timeoutMs }: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
): Promise<ReportedCgroupDriver | undefined> {
  try {
    const { linux } = await client.runtimeConfig({}, { signal, timeoutMs });
    // Without Linux's part the field would read as 0, which means systemd. A newer peer may send an unknown
    // value.
    const driver = linux && DRIVERS.get(linux.cgroupDriver);
    if (driver !== undefined) return { driver, source: 'RuntimeConfig' };
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
  }
  const { info } = await client.status({ verbose: true }, { signal, timeoutMs });
  const driver = findDriverInStatus(info);
  return driver && { driver, source: 'Status' };
}

/** The driver in the `info` of a verbose Status; undefined where it is missing. Pure. */
export function findDriverInStatus(info: Readonly<Record<string, string>>): CgroupDriver | undefined {
  const config = parseJsonObject(info['config'] ?? '');
  if (config === undefined) return undefined;
  return findInContainerd(config) ?? findNamed(config);
}

/**
 * The driver of a runtime by the error with which it refused a sandbox; undefined for any other error. Pure.
 */
export function findDriverInError(message: string): CgroupDriver | undefined {
  // A runtime's log or a gateway may have quoted it.
  const text = message.replaceAll('\\', '');
  return REFUSALS.find(([pattern]) => pattern.test(text))?.[1];
}

/** `SystemdCgroup` of the default runtime, which is off by default. */
function findInContainerd(config: Readonly<Record<string, unknown>>): CgroupDriver | undefined {
  const { containerd } = config;
  if (!isRecord(containerd)) return undefined;
  const { runtimes, defaultRuntimeName } = containerd;
  const runtime = isRecord(runtimes) ? runtimes[String(defaultRuntimeName)] : undefined;
  if (!isRecord(runtime)) return undefined;
  const options = isRecord(runtime['options']) ? runtime['options'] : {};
  // containerd accepts the name in any case, too.
  const option = Object.entries(options).find(([name]) => name.toLowerCase() === 'systemdcgroup');
  // The old form: one switch for all runtimes.
  if (option?.[1] === true || config['systemdCgroup'] === true) return 'systemd';
  return option?.[1] === false || runtime['runtimeType'] === RUNC_TYPE ? 'cgroupfs' : undefined;
}

function findNamed(config: Readonly<Record<string, unknown>>): CgroupDriver | undefined {
  const values = Object.entries(config)
    .filter(([name]) => DRIVER_FIELDS.includes(name.toLowerCase()))
    .map(([, value]) => value);
  return [...DRIVERS.values()].find((driver) => values.includes(driver));
}
