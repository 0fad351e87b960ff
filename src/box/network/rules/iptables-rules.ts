import { isEveryAddress } from './host-port.js';
import { type NetworkTools } from '../network-tools.js';
import { type PacketRules, type PortForward, type RuleSet } from './packet-rules.js';

/** Where the programs are. */
export interface IptablesPrograms {
  readonly restore: string;
  readonly save: string;
}

/** A chain of ours, and the rule in a chain of the system that leads to it. */
interface Jump {
  readonly table: 'nat' | 'filter';
  readonly from: string;
  readonly match: string;
  readonly chain: string;
}

/**
 * Packet rules in chains of our own, reached by one rule each in the system's chains.
 *
 * Our chains are replaced as a whole, one transaction a table; the rules that lead to them are put in where
 * iptables-save does not show them.
 */
export class IptablesRules implements PacketRules {
  readonly kind = 'iptables';
  readonly #tools: NetworkTools;
  readonly #programs: IptablesPrograms;

  constructor(tools: NetworkTools, programs: IptablesPrograms) {
    this.#tools = tools;
    this.#programs = programs;
  }

  async apply(rules: RuleSet, signal?: AbortSignal): Promise<void> {
    await this.#restore(renderIptables(rules, await this.#save(signal)), signal);
  }

  async remove(bridge: string, signal?: AbortSignal): Promise<void> {
    const input = renderIptablesRemoval(bridge, await this.#save(signal));
    if (input !== '') await this.#restore(input, signal);
  }

  #save(signal: AbortSignal | undefined): Promise<string> {
    return this.#tools.run([this.#programs.save], { signal });
  }

  async #restore(input: string, signal: AbortSignal | undefined): Promise<void> {
    // Others change rules, too: -w waits for its turn.
    await this.#tools.run([this.#programs.restore, '--noflush', '-w', '5'], { input, signal });
  }
}

/** The input of iptables-restore that makes our chains say what the set says. `saved` is what iptables-save shows. */
export function renderIptables({ bridge, range, forwards }: RuleSet, saved: string): string {
  const rules: Record<Jump['table'], string[]> = {
    nat: [
      ...forwards.map((forward) => `-A ${bridge}-ports ${renderForward(forward)}`),
      `-A ${bridge}-leave -s ${range} ! -o ${bridge} -j MASQUERADE`,
      `-A ${bridge}-leave -o ${bridge} -s ${range} -m conntrack --ctstate DNAT -j MASQUERADE`,
      `-A ${bridge}-leave -o ${bridge} -s 127.0.0.0/8 -j MASQUERADE`,
    ],
    filter: [
      `-A ${bridge}-pass -i ${bridge} -j ACCEPT`,
      `-A ${bridge}-pass -o ${bridge} -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT`,
      `-A ${bridge}-guard -i ${bridge} -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED -j DROP`,
    ],
  };
  return (['nat', 'filter'] as const)
    .map((table) => {
      const jumps = jumpsOf(bridge).filter((jump) => jump.table === table);
      const chains = [...new Set(jumps.map(({ chain }) => `:${chain} - [0:0]`))];
      const missing = jumps
        .filter(({ from, chain }) =>
          findJumps(saved, table, chain).every((line) => !line.startsWith(`-A ${from} `)),
        )
        .map(({ from, match, chain }) => `-I ${from} ${match}-j ${chain}`);
      return [`*${table}`, ...chains, ...rules[table], ...missing, 'COMMIT', ''].join('\n');
    })
    .join('');
}

/** The input of iptables-restore that takes away all of a bridge's chains; empty when there are none. */
export function renderIptablesRemoval(bridge: string, saved: string): string {
  return (['nat', 'filter'] as const)
    .map((table) => {
      const lines = sectionOf(saved, table);
      const own = new Set(jumpsOf(bridge).map(({ chain }) => chain));
      const chains = [...own].filter((chain) => lines.some((line) => line.startsWith(`:${chain} `)));
      if (chains.length === 0) return '';
      const jumps = chains.flatMap((chain) => findJumps(saved, table, chain));
      return [
        `*${table}`,
        ...jumps.map((line) => line.replace(/^-A /, '-D ')),
        ...chains.map((chain) => `-F ${chain}`),
        ...chains.map((chain) => `-X ${chain}`),
        'COMMIT',
        '',
      ].join('\n');
    })
    .join('');
}

function jumpsOf(bridge: string): readonly Jump[] {
  const local = '-m addrtype --dst-type LOCAL ';
  return [
    { table: 'nat', from: 'PREROUTING', match: local, chain: `${bridge}-ports` },
    { table: 'nat', from: 'OUTPUT', match: local, chain: `${bridge}-ports` },
    { table: 'nat', from: 'POSTROUTING', match: '', chain: `${bridge}-leave` },
    { table: 'filter', from: 'FORWARD', match: '', chain: `${bridge}-pass` },
    { table: 'filter', from: 'INPUT', match: '', chain: `${bridge}-guard` },
  ];
}

function renderForward({ protocol, hostIp, hostPort, address, containerPort }: PortForward): string {
  const destination = isEveryAddress(hostIp) ? '' : `-d ${hostIp} `;
  return `${destination}-p ${protocol} --dport ${hostPort} -j DNAT --to-destination ${address}:${containerPort}`;
}

function findJumps(saved: string, table: string, chain: string): string[] {
  return sectionOf(saved, table).filter((line) => line.startsWith('-A ') && line.endsWith(` -j ${chain}`));
}

/** The lines of one table in the output of iptables-save. */
function sectionOf(saved: string, table: string): string[] {
  const lines = saved.split('\n').map((line) => line.trimEnd());
  const start = lines.indexOf(`*${table}`);
  return start < 0 ? [] : lines.slice(start + 1, lines.indexOf('COMMIT', start));
}
