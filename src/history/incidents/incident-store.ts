/**
 * The incidents of a node on the disk: a folder for each, with `incident.json`, `calls.plrec` and `samples.jsonl`.
 *
 * A file of an incident is replaced as a whole, so that a kill leaves the old one or the new one. The oldest incidents go
 * when there are too many or they take too much room.
 *
 * @module
 */
import { type Stats } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { readIfThere, syncPath, writeWhole } from '#base/fs/whole-file.js';
import { type Incident, parseIncident } from './incident-record.js';

/** How much is kept of past incidents. */
export interface IncidentLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
}

/** One whose file is missing or makes no sense. */
export interface DamagedIncident {
  readonly id: number;
  readonly why: string;
}

/** What a folder of incidents has. */
export interface StoredIncidents {
  readonly items: readonly Incident[];
  readonly damaged: readonly DamagedIncident[];
}

const INCIDENT_FILE = 'incident.json';

/** See the module. */
export class IncidentStore {
  /** The folder of all incidents. */
  readonly folder: string;

  constructor(rootDir: string) {
    this.folder = join(rootDir, 'incidents');
  }

  /** The recording of the calls of an incident. */
  recordingOf(id: number): string {
    return join(this.folder, String(id), 'calls.plrec');
  }

  /** What was measured during an incident, one JSON object a line. */
  samplesOf(id: number): string {
    return join(this.folder, String(id), 'samples.jsonl');
  }

  /** The ids of all incidents, in their order; none if there is no folder. Rejects where it cannot be read. */
  async ids(): Promise<number[]> {
    const names = await readdir(this.folder).catch((error: unknown) => {
      if (['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error))) return [];
      throw error;
    });
    return names
      .filter((name) => /^[1-9]\d{0,8}$/.test(name))
      .map(Number)
      .sort((one, other) => one - other);
  }

  /** An incident; undefined if there is none of that id. Throws RangeError for one that cannot be read. */
  async find(id: number): Promise<Incident | undefined> {
    const text = await readIfThere(join(this.folder, String(id), INCIDENT_FILE));
    return text === undefined ? undefined : parseIncident(text);
  }

  /** All of them, in their order; those that cannot be read are named. */
  async list(): Promise<StoredIncidents> {
    const items: Incident[] = [];
    const damaged: DamagedIncident[] = [];
    for (const id of await this.ids()) {
      try {
        const incident = await this.find(id);
        if (incident === undefined) damaged.push({ id, why: `${INCIDENT_FILE} is missing` });
        else items.push(incident);
      } catch (error) {
        damaged.push({ id, why: messageOf(error) });
      }
    }
    return { items, damaged };
  }

  /** When something of an incident was written last, in milliseconds since the epoch; 0 where nothing is. */
  async lastWrittenMs(id: number): Promise<number> {
    const stats = await this.#statsOf(id);
    return Math.max(0, ...stats.map(({ mtimeMs }) => mtimeMs));
  }

  /**
   * Makes the folder of a new incident with its file in it, so that a kill leaves both or none of them. Returns false,
   * and changes nothing, if it has a folder.
   */
  async create(incident: Incident): Promise<boolean> {
    const folder = join(this.folder, String(incident.id));
    if (await isThere(folder)) return false;
    // A kill may have left one, whose number is given again.
    const draft = `${folder}.tmp`;
    await rm(draft, { recursive: true, force: true });
    await makeFolder(this.folder, 0o700);
    await makeFolder(draft, 0o700);
    await writeWhole(join(draft, INCIDENT_FILE), toText(incident));
    await rename(draft, folder);
    await syncPath(this.folder);
    return true;
  }

  /** Replaces what is stored of an incident. */
  async write(incident: Incident): Promise<void> {
    await writeWhole(join(this.folder, String(incident.id), INCIDENT_FILE), toText(incident));
  }

  /** Removes the oldest incidents beyond the limits, but never `keep`. */
  async prune({ maxCount, maxBytes }: IncidentLimits, keep: number | undefined): Promise<void> {
    const sizes = await Promise.all(
      (await this.ids()).map(async (id) => ({ id, bytes: await this.#bytesOf(id) })),
    );
    let count = sizes.length;
    let bytes = sizes.reduce((sum, each) => sum + each.bytes, 0);
    for (const each of sizes) {
      if (count <= maxCount && bytes <= maxBytes) return;
      if (each.id === keep) continue;
      await rm(join(this.folder, String(each.id)), { recursive: true, force: true });
      count--;
      bytes -= each.bytes;
    }
  }

  async #bytesOf(id: number): Promise<number> {
    return (await this.#statsOf(id)).reduce((sum, { size }) => sum + size, 0);
  }

  async #statsOf(id: number): Promise<Stats[]> {
    const folder = join(this.folder, String(id));
    const names = await readdir(folder).catch(() => []);
    const stats = await Promise.all(
      names.map(async (name) => stat(join(folder, name)).catch(() => undefined)),
    );
    return stats.filter((each) => each !== undefined);
  }
}

function toText(incident: Incident): string {
  return `${JSON.stringify(incident, undefined, 2)}\n`;
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
