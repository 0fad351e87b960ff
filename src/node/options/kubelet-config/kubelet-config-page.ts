import { formatGoDuration } from '#base/time/go-duration.js';
import { AGENT_OPTIONS, type AgentOptions } from '../agent-options.js';
import { CLUSTER_FIELDS } from './kubelet-config-fields.js';
import { portAddressOf } from '../port-address.js';
import { findReadOnlyPlace } from '../read-only-port.js';
import { type AgentOptionFacts } from '../options-table.js';

/** Replaces secrets on the page. */
const HIDDEN = 'hidden';
const MEBIBYTE = 2 ** 20;

/**
 * Formats the options in force like a kubelet's /configz: a KubeletConfiguration with every supported field. Pure.
 *
 * It leaves out what may be secret: values of headers, and logins and queries of URLs.
 */
export function kubeletConfigPage(options: AgentOptions): string {
  const config: Record<string, unknown> = {
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
  };
  for (const name of Object.keys(AGENT_OPTIONS) as (keyof AgentOptions)[]) {
    const facts: AgentOptionFacts<unknown> = AGENT_OPTIONS[name];
    const value = inForce(options, name);
    // Unset values are left out, except those that mean something when empty.
    if (facts.field === undefined || (value === '' && facts.default === '')) continue;
    if (options.kubeconfig === '' && isOfClusters(facts.field)) continue;
    put(config, facts.field.split('.'), toField(name, facts, value));
  }
  return `${JSON.stringify({ kubeletconfig: config })}\n`;
}

/** The value in force, which for some options depends on others. */
function inForce(options: AgentOptions, name: keyof AgentOptions): unknown {
  if (name === 'readOnlyPort') return findReadOnlyPlace(options).port;
  return name === 'address' ? portAddressOf(options) : options[name];
}

function isOfClusters(field: string): boolean {
  return Object.keys(CLUSTER_FIELDS).some((each) => field === each || field.startsWith(`${each}.`));
}

function put(config: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [field = '', ...rest] = path;
  if (rest.length === 0) config[field] = value;
  else put((config[field] ??= {}) as Record<string, unknown>, rest, value);
}

function toField(name: keyof AgentOptions, { type }: AgentOptionFacts<unknown>, value: unknown): unknown {
  if (name === 'manifestUrlHeader') return hideValues(value as AgentOptions['manifestUrlHeader']);
  if (name === 'registerWithTaints') return (value as readonly string[]).map(toTaint);
  if (name === 'manifestUrl') return hideSecrets(value as string);
  if (type === 'duration' || type === 'period') return formatGoDuration(value as number);
  if (type === 'size') return toQuantity(value as number);
  return value;
}

/** The quantity is valid, as the agent checked it when it started. */
function toTaint(text: string): object {
  const [, key = '', value = '', effect = ''] = /^([^=:]*)(?:=([^:]*))?:?(.*)$/.exec(text) ?? [];
  return { key, ...(value !== '' && { value }), effect };
}

function hideValues(headers: AgentOptions['manifestUrlHeader']): AgentOptions['manifestUrlHeader'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [name, values.map(() => HIDDEN)]),
  );
}

function hideSecrets(text: string): string {
  if (!URL.canParse(text)) return HIDDEN;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') [url.username, url.password] = [HIDDEN, HIDDEN];
  for (const name of [...url.searchParams.keys()]) url.searchParams.set(name, HIDDEN);
  return url.href;
}

function toQuantity(bytes: number): string {
  return bytes % MEBIBYTE === 0 ? `${bytes / MEBIBYTE}Mi` : String(bytes);
}
