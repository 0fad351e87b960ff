import { Command, Option } from 'commander';
import { type Incident } from '#observe';
import { formatGoDuration } from '#base/time/go-duration.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type CliHost } from '../../cli-host.js';
import { wrapNotes } from '../../help-layout.js';
import { socketOption, withAgent } from '../../shared/agent-session.js';
import { incidentRootOption, IncidentSource } from '../../shared/incidents/incident-source.js';
import { layOutTable } from '../../shared/print/tab-columns.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';

interface IncidentsFlags {
  readonly socket?: string;
  readonly rootDir?: string;
  readonly output: 'text' | 'json';
}

const HELP = `
Incidents are recorded by "podloop observe", and can be read while it runs and after it has ended.

Examples:
  # What was wrong with this node
  podloop incidents

  # What happened in the third one
  podloop incident show 3`;

/** `podloop incidents`: the incidents of a node. */
export function incidentsCommand(host: CliHost): Command {
  return new Command('incidents')
    .description('List what was wrong with a node, from begin to end, as podloop observe recorded it.')
    .addOption(socketOption())
    .addOption(incidentRootOption())
    .addOption(new Option('-o, --output <format>', 'Output format').choices(['text', 'json']).default('text'))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: IncidentsFlags) => incidents(flags, host));
}

async function incidents(flags: IncidentsFlags, host: CliHost): Promise<void> {
  const { stdout, stderr, clock } = host;
  await withAgent(host, flags, async ({ client }) => {
    const { items, damaged } = await new IncidentSource({ client, rootDir: flags.rootDir }).list();
    for (const { id, why } of damaged)
      await stderr.writeLine(escapeTerminal(`Incident ${id} cannot be read: ${why}`));
    if (flags.output === 'json') {
      await stdout.writeLine(JSON.stringify({ items, damaged }, undefined, 2));
      return;
    }
    if (items.length === 0) {
      await stderr.writeLine('No incidents found.');
      return;
    }
    for (const line of toIncidentRows(items, clock.now())) await stdout.writeLine(line);
  });
}

/** A row for each incident below the names of the columns. */
export function toIncidentRows(incidents: readonly Incident[], nowMs: number): string[] {
  const rows = incidents.map((incident) => {
    const { id, beganAt, endedAt, lastSeenAt, state, findings } = incident;
    const [first] = findings;
    const until = endedAt ?? lastSeenAt;
    const lastedMs = (until === undefined ? nowMs : Date.parse(until)) - Date.parse(beganAt);
    // Of one that was cut off, only so much is known.
    const more = endedAt === undefined && lastSeenAt !== undefined ? '+' : '';
    const lasted = `${formatGoDuration(Math.max(0, Math.round(lastedMs / 1_000) * 1_000))}${more}`;
    const severity = findings.some((each) => each.severity === 'critical') ? 'critical' : 'warning';
    const about = first?.pod === undefined ? '-' : formatPod(first.pod);
    return [String(id), beganAt, lasted, state, severity, first?.code ?? '-', String(findings.length), about];
  });
  const heading = ['ID', 'BEGAN', 'LASTED', 'STATE', 'SEVERITY', 'FIRST', 'FINDINGS', 'POD'];
  return layOutTable([heading, ...rows]);
}
