import { type Finding } from '../finding.js';
import { valueOf } from '../looked.js';
import { type LoadFacts, type MachineFacts, type PressureOf } from '../facts/machine-facts.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { formatBytes, formatMs, formatPercent } from './words.js';

/** Whether the machine is short of time on disks, memory or the CPU. */
export const pressureRules: Rule = ({ machine }) => [
  ...findPressure(machine),
  ...findSlowDisk(machine),
  ...findLittleMemory(machine),
];

/** What the machine is short of right now, also for a moment: what is slow then has that reason. Undefined for nothing. */
export function findBusy({ pressure, load }: Pick<MachineFacts, 'pressure' | 'load'>): string | undefined {
  const of = valueOf(pressure);
  if (of === undefined) return findLoaded(valueOf(load));
  const { cpu, io, memory } = of;
  if (Math.max(cpu.someAvg10, cpu.someNow ?? 0) >= LIMITS.cpuSomeBusy) return describe('cpu', cpu);
  if (Math.max(io.fullAvg10, io.fullNow ?? 0) >= LIMITS.ioFullWarning) return describe('io', io);
  const memoryFull = Math.max(memory.fullAvg10, memory.fullNow ?? 0);
  return memoryFull >= LIMITS.memoryFullWarning ? describe('memory', memory) : undefined;
}

/** Distributions ship kernels that do not measure pressure. The load counts who runs and who waits for a disk. */
function findLoaded(load: LoadFacts | undefined): string | undefined {
  if (load === undefined || load.average1 < load.cores * LIMITS.loadBusyPerCore) return undefined;
  return describeLoad(load);
}

function describeLoad({ average1, cores }: LoadFacts): string {
  return `load ${average1} (1 min) on ${cores} cores`;
}

function describe(name: string, of: PressureOf): string {
  const { someAvg10, someAvg60, fullAvg10, fullAvg60, someNow, fullNow } = of;
  const [some, full] = [someNow, fullNow].map((now) => (now === undefined ? '' : ` while this ran=${now}%`));
  return `/proc/pressure/${name}: some avg10=${someAvg10}% avg60=${someAvg60}%${some}, full avg10=${fullAvg10}% avg60=${fullAvg60}%${full}`;
}

function findPressure(machine: MachineFacts): Finding[] {
  const pressure = valueOf(machine.pressure);
  if (pressure === undefined) return [];
  const load = valueOf(machine.load);
  const loadLine = load === undefined ? [] : [describeLoad(load)];
  const { io, memory, cpu } = pressure;
  const findings: Finding[] = [];
  const ioFull = Math.max(io.fullAvg10, io.fullAvg60);
  if (ioFull >= LIMITS.ioFullWarning) {
    findings.push({
      ...{ code: 'IoPressure', severity: ioFull >= LIMITS.ioFullCritical ? 'critical' : 'warning' },
      message: `everything that runs waits for disks ${ioFull}% of the time: the runtime’s calls wait with it`,
      evidence: [describe('io', io), ...loadLine],
      remedy:
        'Find who writes (iotop, or io.stat of cgroups), limit or move it; give the runtime and the kubelet a disk of their own.',
    });
  }
  const memoryFull = Math.max(memory.fullAvg10, memory.fullAvg60);
  if (memoryFull >= LIMITS.memoryFullWarning) {
    findings.push({
      ...{
        code: 'MemoryPressure',
        severity: memoryFull >= LIMITS.memoryFullCritical ? 'critical' : 'warning',
      },
      message: `everything that runs waits for memory ${memoryFull}% of the time`,
      evidence: [describe('memory', memory)],
      remedy: 'Give pods memory limits, reserve some for the system (--system-reserved), or run fewer.',
    });
  }
  if (cpu.someAvg60 >= LIMITS.cpuSomeWarning) {
    findings.push({
      ...{ code: 'CpuPressure', severity: 'warning' },
      message: `somebody waits for the CPU ${cpu.someAvg60}% of the time`,
      evidence: [describe('cpu', cpu), ...loadLine],
      remedy:
        'Give pods CPU requests that they keep to, reserve some for the system (--system-reserved), or run fewer.',
    });
  }
  return findings;
}

function findSlowDisk(machine: MachineFacts): Finding[] {
  const fsync = valueOf(machine.fsync);
  if (fsync === undefined) return [];
  const { path, writes, medianMs, maxMs, hungMs = 0 } = fsync;
  // A single write that takes seconds holds up its process, however fast the others are.
  const isVerySlow = hungMs > 0 || medianMs >= LIMITS.fsyncVerySlowMs;
  if (!isVerySlow && medianMs < LIMITS.fsyncSlowMs && maxMs < LIMITS.fsyncVerySlowMs) return [];
  const took = medianMs >= LIMITS.fsyncSlowMs ? medianMs : maxMs;
  return [
    {
      ...{ code: 'DiskSlow', severity: isVerySlow ? 'critical' : 'warning' },
      message:
        hungMs > 0
          ? `a small write has not arrived on the disk of ${path} after ${formatMs(hungMs)}`
          : `a small write takes ${formatMs(took)} to arrive on the disk of ${path}`,
      evidence: [
        ...(writes === 0
          ? []
          : [
              `${writes} writes of 4KiB with fsync: median ${formatMs(medianMs)}, at most ${formatMs(maxMs)}`,
            ]),
        ...(hungMs > 0 ? [`one more was given up after ${formatMs(hungMs)}`] : []),
      ],
      remedy:
        'See who else uses this disk (iostat -x, iotop), whether it is throttled or failing (dmesg, smartctl).',
    },
  ];
}

function findLittleMemory(machine: MachineFacts): Finding[] {
  const memory = valueOf(machine.memory);
  if (memory === undefined) return [];
  const { availableBytes, totalBytes } = memory;
  const isGone = availableBytes < LIMITS.memoryLeftBytes;
  if (!isGone && availableBytes / totalBytes >= LIMITS.memoryFreeShare) return [];
  return [
    {
      ...{ code: 'MemoryLow', severity: isGone ? 'critical' : 'warning' },
      message: `${formatBytes(availableBytes)} of memory are available (${formatPercent(availableBytes / totalBytes)})`,
      evidence: [`MemAvailable ${formatBytes(availableBytes)} of ${formatBytes(totalBytes)}`],
      remedy: 'See who has it (ps aux --sort -rss), give pods limits, or run fewer.',
    },
  ];
}
