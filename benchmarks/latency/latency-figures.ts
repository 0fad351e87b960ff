import { type PlegMode } from '#watch';
import { type Release } from '../../test/containerd/harness/installed.js';
import { bootstrapRatioOfBlocks, type Estimate, mean, median, quantile } from '../stats.js';
import { type DeathSample } from './latency-turn.js';
import { type LatencyParts } from './part-latency.js';

/** What was seen of every death. */
export interface Samples {
  /** By turn: what disturbed one death of a turn disturbed others, too. */
  readonly modes: Readonly<Record<PlegMode, DeathSample[][]>>;
  /** Of the generic mode, one at a time; by turn. */
  readonly alone: DeathSample[][];
}

/** Milliseconds. */
export interface Spread {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** From the end of a process to something, and where the time went. */
export interface PartedFigures extends Spread {
  /** Medians. */
  readonly eventMs: number;
  readonly callsMs: number;
  readonly ownMs: number;
  readonly ownP99Ms: number;
  /** Of all the time, what was neither the runtime's event nor its calls. */
  readonly ownShare: number;
  readonly everyMs: readonly number[];
}

/** What was found of podloop in one mode. */
export interface ModeFigures {
  readonly mode: PlegMode;
  readonly deaths: number;
  /** Its own, or the bare observer's where these are fewer: so much evidence the ratios have. */
  readonly turns: number;
  /** Never told of, or never replaced. */
  readonly missed: number;
  /** Told of more than once. */
  readonly repeated: number;
  readonly toEvent: PartedFigures;
  readonly toReplacement: PartedFigures;
  /** Of the p99s to the event; what was never told of took for ever. */
  readonly p99RatioToBare: Estimate;
  readonly p50RatioToBare: Estimate;
  /**
   * Of the p99 to that of the bare observer's ends one at a time: what it watches otherwise are ends of the mode generic,
   * whose lists each second keep the runtime busy, and make the bare observer's tail longer.
   */
  readonly p99RatioToAlone: Estimate;
  /** As `turns`, of that ratio. */
  readonly turnsToAlone: number;
}

/** What the bare observer and containerd's own stream found. */
export interface BareFigures {
  /** The status is there. */
  readonly known: Spread & { readonly everyMs: readonly number[] };
  readonly event: Spread;
  readonly native: Spread;
  readonly missed: number;
}

/** What was found on one release. */
export interface LatencyFigures {
  readonly release: Release;
  readonly containerdVersion: string;
  /** At a time. */
  readonly pods: number;
  readonly paceMs: number;
  readonly bare: BareFigures;
  /** The same where nothing else happened. */
  readonly alone: BareFigures;
  readonly modes: readonly ModeFigures[];
}

/** Makes figures of samples. Pure. */
export function toLatencyFigures(
  release: Release,
  containerdVersion: string,
  { everyMs: paceMs }: { readonly everyMs: number },
  { modes, alone }: Samples,
): LatencyFigures {
  const bareMs = { paced: bareMsOf(modes.generic), alone: bareMsOf(alone) };
  return {
    ...{ release, containerdVersion, paceMs },
    // Each of a turn's is killed once; the last turn has what is left.
    pods: Math.max(0, ...modes.generic.map((turn) => turn.length)),
    bare: toBareFigures(modes.generic.flat()),
    alone: toBareFigures(alone.flat()),
    modes: Object.entries(modes).map(([mode, turns]) => toModeFigures(mode as PlegMode, turns, bareMs)),
  };
}

/** By turn; what it missed took for ever. */
function bareMsOf(turns: readonly (readonly DeathSample[])[]): number[][] {
  return turns.map((turn) => turn.map(({ bareMs }) => bareMs ?? Number.POSITIVE_INFINITY));
}

function toModeFigures(
  mode: PlegMode,
  turns: readonly (readonly DeathSample[])[],
  { paced, alone }: Readonly<Record<'paced' | 'alone', readonly (readonly number[])[]>>,
): ModeFigures {
  const toldMs = turns.map((turn) => turn.map(({ told }) => told?.totalMs ?? Number.POSITIVE_INFINITY));
  const ratioTo = (bareMs: readonly (readonly number[])[], share: number): Estimate =>
    bootstrapRatioOfBlocks(toldMs, bareMs, (values) => quantile(values, share));
  const samples = turns.flat();
  return {
    ...{ mode, deaths: samples.length, turns: Math.min(turns.length, paced.length) },
    missed: samples.filter(({ told, replaced }) => told === undefined || replaced === undefined).length,
    repeated: samples.filter(({ times }) => times > 1).length,
    toEvent: toPartedFigures(samples.map(({ told }) => told)),
    toReplacement: toPartedFigures(samples.map(({ replaced }) => replaced)),
    p99RatioToBare: ratioTo(paced, 0.99),
    p50RatioToBare: ratioTo(paced, 0.5),
    p99RatioToAlone: ratioTo(alone, 0.99),
    turnsToAlone: Math.min(turns.length, alone.length),
  };
}

function toPartedFigures(found: readonly (LatencyParts | undefined)[]): PartedFigures {
  const parts = found.filter((each) => each !== undefined);
  const everyMs = parts.map(({ totalMs }) => totalMs);
  const own = parts.map(({ ownMs }) => ownMs);
  return {
    ...toSpread(everyMs),
    eventMs: median(parts.map(({ eventMs }) => eventMs)),
    callsMs: median(parts.map(({ callsMs }) => callsMs)),
    ...{ ownMs: median(own), ownP99Ms: quantile(own, 0.99), ownShare: mean(own) / mean(everyMs), everyMs },
  };
}

function toBareFigures(samples: readonly DeathSample[]): BareFigures {
  const known = defined(samples.map(({ bareMs }) => bareMs));
  return {
    known: { ...toSpread(known), everyMs: known },
    event: toSpread(defined(samples.map(({ bareEventMs }) => bareEventMs))),
    native: toSpread(defined(samples.map(({ nativeMs }) => nativeMs))),
    missed: samples.length - known.length,
  };
}

function toSpread(values: readonly number[]): Spread {
  return {
    count: values.length,
    p50Ms: median(values),
    p99Ms: quantile(values, 0.99),
    maxMs: quantile(values, 1),
  };
}

function defined(values: readonly (number | undefined)[]): number[] {
  return values.filter((value) => value !== undefined);
}
