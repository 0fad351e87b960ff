import { mkdtemp, open, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type Measurements, type RecordedTimeline } from '#kube/node/recorded-timeline.js';
import { type Incident } from '#observe';
import { readRecordingEvents } from '#proxy/record';
import { messageOf } from '#base/errors/errors.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { socketOption, withAgent } from '../../shared/agent-session.js';
import { incidentRootOption, IncidentSource } from '../../shared/incidents/incident-source.js';
import { toStandalonePage } from '../../shared/page/standalone-page.js';
import { RecordedContent } from '../../shared/page/recorded-content.js';
import { readMeasurements } from '../../shared/page/read-measurements.js';
import { toIncidentPage } from '../../shared/page/recorded-page.js';
import { pagePortOption, servePage } from '../../shared/page/serve-page.js';
import { toIncidentLines } from './incident-text.js';

interface PlaceFlags {
  readonly socket?: string;
  readonly rootDir?: string;
}

interface ShowFlags extends PlaceFlags {
  readonly output: 'text' | 'json' | 'html';
  readonly web: boolean;
  readonly port?: number;
}

interface ExportFlags extends PlaceFlags {
  readonly file: string;
}

/** Of what was measured, as much as is read: some hours, as examinations are large. */
const MAX_SAMPLE_BYTES = 64 * 2 ** 20;

const HELP = `
Examples:
  # Who was first, what followed from it, and what ended it
  podloop incident show 3

  # The same on a page in the browser, with a timeline of what happened
  podloop incident show 3 --web

  # That page as one file, for whoever has no podloop
  podloop incident show 3 -o html > incident-3.html

  # Its calls as a recording, to look at the node as it was
  podloop incident export 3 -f incident-3.plrec
  podloop replay incident-3.plrec --listen unix:///tmp/replay/cri.sock`;

/** `podloop incident`: one incident of a node. */
export function incidentCommand(host: CliHost): Command {
  const show = new Command('show')
    .description('Show what happened in an incident: who was first, what followed, what ended it.')
    .argument('<id>', 'Number of the incident, as podloop incidents lists it', parseId)
    .addOption(socketOption())
    .addOption(incidentRootOption())
    .addOption(
      new Option('-o, --output <format>', 'Output format; html is one file with the page of --web')
        .choices(['text', 'json', 'html'])
        .default('text'),
    )
    .option('--web', 'Show it on a page in the browser, with a timeline', false)
    .addOption(pagePortOption())
    .action(async (id: number, flags: ShowFlags) => showIncident(id, flags, host));
  const toFile = new Command('export')
    .description('Write the calls of an incident to a recording, which podloop replay serves.')
    .argument('<id>', 'Number of the incident, as podloop incidents lists it', parseId)
    .requiredOption('-f, --file <file>', 'File to write; only its owner may read it')
    .addOption(socketOption())
    .addOption(incidentRootOption())
    .action(async (id: number, flags: ExportFlags) => exportIncident(id, flags, host));
  return new Command('incident')
    .description('Show or export an incident that podloop observe recorded.')
    .addCommand(show)
    .addCommand(toFile)
    .addHelpText('after', wrapNotes(HELP));
}

async function showIncident(id: number, flags: ShowFlags, host: CliHost): Promise<void> {
  const { output, web, rootDir, port } = flags;
  const ending = { servesUntilInterrupted: web };
  await withAgent(
    host,
    flags,
    async ({ client, signal }) => {
      const source = new IncidentSource({ client, rootDir });
      const incident = await source.get(id);
      if (web) {
        const content = new RecordedContent(await readIncidentPage(incident, source, signal));
        await servePage({ host, content, title: `The page of incident ${id}`, port, signal });
      } else if (output === 'html') {
        await host.stdout.writeLine(await toStandalonePage(await readIncidentPage(incident, source, signal)));
      } else {
        const lines =
          output === 'json' ? [JSON.stringify(incident, undefined, 2)] : toIncidentLines(incident);
        for (const line of lines) await host.stdout.writeLine(line);
      }
    },
    ending,
  );
}

/** With the calls that were recorded of it and what was measured, as far as they can be read. */
async function readIncidentPage(
  incident: Incident,
  source: IncidentSource,
  signal: AbortSignal,
): Promise<RecordedTimeline> {
  const measured = await measurementsOf(incident, source);
  const folder = await mkdtemp(join(tmpdir(), 'podloop-incident-'));
  try {
    const path = join(folder, 'calls.plrec');
    await writeFile(path, await source.recording(incident.id), { mode: 0o600, signal });
    return toIncidentPage(incident, { recorded: await readRecordingEvents(path, { signal }), measured });
  } catch (error) {
    signal.throwIfAborted();
    return toIncidentPage(incident, { gap: messageOf(error), measured });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Undefined where nothing was measured, or an observer of before does not show it: the page goes without. */
async function measurementsOf({ id }: Incident, source: IncidentSource): Promise<Measurements | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of await source.samples(id)) {
      // The oldest are kept: they are of the time before and of the beginning.
      if ((bytes += piece.length) > MAX_SAMPLE_BYTES) break;
      pieces.push(piece);
    }
  } catch {
    return undefined;
  }
  return readMeasurements(Buffer.concat(pieces).toString());
}

async function exportIncident(id: number, flags: ExportFlags, host: CliHost): Promise<void> {
  await withAgent(host, flags, async ({ client }) => {
    const pieces = await new IncidentSource({ client, rootDir: flags.rootDir }).recording(id);
    const file = await open(flags.file, 'wx', 0o600).catch((error: unknown) => {
      throw failure(`${flags.file} cannot be written: ${messageOf(error)}`);
    });
    let bytes = 0;
    try {
      for await (const piece of pieces) {
        await file.writeFile(piece);
        bytes += piece.length;
      }
    } catch (error) {
      // A part of a recording looks like one that ended there.
      await unlink(flags.file);
      throw failure(`the calls of incident ${id} could not be exported: ${messageOf(error)}`);
    } finally {
      await file.close();
    }
    await host.stdout.writeLine(`${flags.file}: the calls of incident ${id}, ${bytes} bytes`);
  });
}

function parseId(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('use the number of an incident, such as 3');
}
