import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

/** What somebody uses, as the agent's summary has it. */
export interface Usage {
  readonly cpu?: { readonly usageNanoCores?: number };
  readonly memory?: { readonly workingSetBytes?: number; readonly availableBytes?: number };
}

/** A disk, as the summary has it. */
export interface Disk {
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
}

/** What the node and its pods use. */
export interface Summary {
  readonly node?: Usage & {
    readonly fs?: Disk;
    readonly runtime?: { readonly imageFs?: Disk; readonly containerFs?: Disk };
    readonly rlimit?: { readonly maxpid?: number; readonly curproc?: number };
  };
  readonly pods?: readonly (Usage & {
    readonly podRef: { readonly name: string; readonly namespace: string };
  })[];
}

/** Where the summary is. */
export const SUMMARY = '/agent/stats/summary';
/** How often it is asked for. */
export const USAGE_MS = 3_000;
const MAX_POINTS = 600;

/** In thousandths of a core: `120m`. */
export function formatCpu({ cpu }: Usage): string {
  return cpu?.usageNanoCores === undefined ? '–' : `${Math.round(cpu.usageNanoCores / 1e6)}m`;
}

/** The lines of charts: times in seconds, then values. */
export interface UsagePoints {
  readonly cpu: readonly (readonly (number | null)[])[];
  readonly memory: readonly (readonly (number | null)[])[];
}

/** What was used since the view was opened; `usage` is another object with each answer. */
export function useUsagePoints(usage: Usage | undefined): UsagePoints {
  const points = useRef<{ atS: number; cpu: number | null; memory: number | null }[]>([]);
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (usage === undefined) return;
    const { cpu, memory } = usage;
    const cores = cpu?.usageNanoCores === undefined ? null : cpu.usageNanoCores / 1e9;
    points.current.push({ atS: Date.now() / 1_000, cpu: cores, memory: memory?.workingSetBytes ?? null });
    points.current = points.current.slice(-MAX_POINTS);
    setCount((each) => each + 1);
  }, [usage]);
  return useMemo(() => {
    const times = points.current.map(({ atS }) => atS);
    return {
      cpu: [times, points.current.map(({ cpu }) => cpu)],
      memory: [times, points.current.map(({ memory }) => memory)],
    };
  }, [count]);
}
