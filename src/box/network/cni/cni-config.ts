import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { namesIn } from '#base/fs/names-in.js';
import { type CniNetworkList, type CniPlugin } from '../links/attachment-record.js';
import { findProgram } from '#base/proc/find-program.js';

/** Where plugins and their configuration usually are. */
export const DEFAULT_CNI_BIN_DIRS = '/opt/cni/bin:/usr/lib/cni';
export const DEFAULT_CNI_CONF_DIR = '/etc/cni/net.d';

/** What a look into the configuration folder shows. */
export interface CniChoice {
  /** The list to use; undefined when there is none that can be used. */
  readonly list: CniNetworkList | undefined;
  /** The file that was chosen, or looked at in vain. */
  readonly path: string | undefined;
  /** Why the file cannot be used. */
  readonly fault: string | undefined;
}

/** Versions whose results have the form that we read. */
const VERSIONS = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'];

/**
 * Chooses a network: the first file by name, of *.conflist, *.conf and *.json, as other runtimes do. When that one
 * cannot be used, no other is taken instead: pods in the wrong network are worse than none.
 */
export async function chooseCniList(confDir: string, binDirs: string): Promise<CniChoice> {
  const names = await namesIn(confDir);
  const [first] = names.filter((name) => /\.(conflist|conf|json)$/.test(name)).sort();
  if (first === undefined) return { list: undefined, path: undefined, fault: undefined };
  const path = join(confDir, first);
  try {
    const list = parseCniList(await readFile(path, 'utf8'));
    for (const { type } of list.plugins) {
      if ((await findProgram(type, binDirs)) === undefined)
        throw new Error(`the plugin "${type}" is not in ${binDirs}`);
    }
    return { list, path, fault: undefined };
  } catch (error) {
    return { list: undefined, path, fault: messageOf(error) };
  }
}

/** Reads a network configuration list, or the configuration of a single plugin as a list of one. */
export function parseCniList(text: string): CniNetworkList {
  const value = JSON.parse(text) as Partial<CniNetworkList> & Partial<CniPlugin>;
  const { name, cniVersion = '0.2.0' } = value;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9][\w.-]*$/.test(name))
    throw new Error('it has no proper "name"');
  if (!VERSIONS.includes(cniVersion))
    throw new Error(`its cniVersion ${cniVersion} is not one of ${VERSIONS.join(', ')}`);
  const plugins: unknown = value.plugins ?? (value.type === undefined ? undefined : [value]);
  if (!Array.isArray(plugins) || plugins.length === 0) throw new Error('it names no plugins');
  if (!plugins.every(isPlugin)) throw new Error('a plugin has no proper "type"');
  // Other programs have written "true" where true was meant.
  const disableCheck = String(value.disableCheck) === 'true';
  return { name, cniVersion, disableCheck, plugins };
}

/** A type becomes the name of a program: no slash may lead out of the plugins' folders. */
function isPlugin(value: unknown): value is CniPlugin {
  const { type } = (value ?? {}) as Partial<CniPlugin>;
  return typeof type === 'string' && /^[^/\0]+$/.test(type) && type !== '.' && type !== '..';
}
