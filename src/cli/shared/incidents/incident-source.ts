import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Option } from 'commander';
import { cutOff, type Incident, IncidentStore, type StoredIncidents } from '#observe';
import { messageOf } from '#base/errors/errors.js';
import { AgentAbsent, type AgentClient } from '../api/agent-client.js';
import { failure } from '../../command-failure.js';

/** Where a command reads incidents. */
export interface IncidentSourceOptions {
  readonly client: AgentClient;
  /** Root folder of the observer, which is read while it does not run (default: the folder of its socket). */
  readonly rootDir?: string | undefined;
}

/** `--root-dir` of commands that read incidents. */
export function incidentRootOption(): Option {
  return new Option(
    '--root-dir <path>',
    'Root folder of the observer, which is read while it does not run (default: the folder of the socket)',
  );
}

/** The incidents of a node: of the observer that runs, else on the disk. Every method rejects with a CommandFailure. */
export class IncidentSource {
  readonly #client: AgentClient;
  readonly #store: IncidentStore;

  constructor({ client, rootDir = dirname(client.socketPath) }: IncidentSourceOptions) {
    this.#client = client;
    this.#store = new IncidentStore(rootDir);
  }

  /** In the order of their begin, with those that cannot be read. */
  async list(): Promise<StoredIncidents> {
    return await this.#ask(
      async () => {
        const { items = [], damaged = [] } = (await this.#client.get(
          '/incidents',
        )) as Partial<StoredIncidents>;
        return { items, damaged };
      },
      async () => {
        const { items, damaged } = await this.#store.list();
        return { items: await Promise.all(items.map(async (each) => this.#asLeft(each))), damaged };
      },
    );
  }

  async get(id: number): Promise<Incident> {
    return await this.#ask(
      async () => (await this.#client.get(`/incidents/${id}`)) as unknown as Incident,
      async () => {
        const found = await this.#store.find(id).catch((error: unknown) => {
          throw failure(`incident ${id} in ${this.#store.folder} cannot be read: ${messageOf(error)}`);
        });
        if (found === undefined) throw failure(`there is no incident ${id} in ${this.#store.folder}`);
        return await this.#asLeft(found);
      },
    );
  }

  /** No observer runs: one that is open was cut off. */
  async #asLeft(incident: Incident): Promise<Incident> {
    if (incident.state !== 'open') return incident;
    return cutOff(incident, await this.#store.lastWrittenMs(incident.id));
  }

  /** The recording of its calls, piece by piece. */
  async recording(id: number): Promise<AsyncIterable<Buffer>> {
    return await this.#file(
      `/incidents/${id}/recording`,
      this.#store.recordingOf(id),
      `recording of incident ${id}`,
    );
  }

  /** What was measured meanwhile: one JSON object a line, piece by piece. */
  async samples(id: number): Promise<AsyncIterable<Buffer>> {
    return await this.#file(
      `/incidents/${id}/samples`,
      this.#store.samplesOf(id),
      `measurement of incident ${id}`,
    );
  }

  async #file(path: string, file: string, what: string): Promise<AsyncIterable<Buffer>> {
    return await this.#ask<AsyncIterable<Buffer>>(
      async () => this.#client.read(await this.#client.open('GET', path)),
      async () => {
        const found = await stat(file).catch(() => undefined);
        if (found === undefined) throw failure(`there is no ${what}: ${file} is missing`);
        return createReadStream(file);
      },
    );
  }

  async #ask<Answer>(ofAgent: () => Promise<Answer>, ofDisk: () => Promise<Answer>): Promise<Answer> {
    try {
      return await ofAgent();
    } catch (error) {
      if (error instanceof AgentAbsent) return await ofDisk();
      throw error;
    }
  }
}
