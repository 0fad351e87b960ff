import { findQuantity, type Quantity } from '#kube/fields/quantity.js';
import { parseCpuList } from '#base/proc/cpu-list.js';
import { type ReserveOptions } from '../../options/reserve-options.js';

/** Amounts by resource, such as `{ cpu: '200m', memory: '500Mi' }`. */
export type ReservedAmounts = Readonly<Record<string, string>>;

/** The sum of a resource over these lists, in the unit. Pure. */
export function sumReserved(
  lists: readonly ReservedAmounts[],
  name: string,
  unit: (quantity: Quantity) => bigint,
): bigint {
  return lists
    .map((list) => findQuantity(list[name] ?? '0'))
    .reduce((sum, quantity) => sum + (quantity === undefined ? 0n : unit(quantity)), 0n);
}

/** What is left of all when so much is gone; never below zero. Pure. */
export function leftOf(all: bigint, gone: bigint): bigint {
  return gone < all ? all - gone : 0n;
}

/** The options that say what is reserved. */
export type ReservedOptions = Pick<ReserveOptions, 'systemReserved' | 'kubeReserved' | 'reservedSystemCpus'>;

/**
 * What is reserved for the system and for agents. Reserved processors replace the CPU of both: the system gets their number. Pure.
 *
 * Source: https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/#explicitly-reserved-cpu-list
 */
export function computeReserved({ systemReserved, kubeReserved, reservedSystemCpus }: ReservedOptions): {
  readonly system: ReservedAmounts;
  readonly kube: ReservedAmounts;
} {
  const cpus = reservedSystemCpus === '' ? undefined : parseCpuList(reservedSystemCpus);
  if (cpus === undefined) return { system: systemReserved, kube: kubeReserved };
  const kube = Object.fromEntries(Object.entries(kubeReserved).filter(([name]) => name !== 'cpu'));
  return { system: { ...systemReserved, cpu: String(cpus.size) }, kube };
}
