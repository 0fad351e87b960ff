import { invalidArgument } from '../rpc-error.js';
import { type Platform } from './archive/oci-documents.js';

/** Node's names of processors as images have them. */
const ARCHITECTURES: Readonly<Record<string, Platform>> = {
  x64: { architecture: 'amd64' },
  ia32: { architecture: '386' },
  arm64: { architecture: 'arm64', variant: 'v8' },
  arm: { architecture: 'arm', variant: 'v7' },
  ppc64: { architecture: 'ppc64le' },
};

/** What images for this machine are called. */
export function toPlatform(nodeArchitecture: string): Platform {
  return { os: 'linux', ...(ARCHITECTURES[nodeArchitecture] ?? { architecture: nodeArchitecture }) };
}

/** Names of processors that people and uname(1) use for those of {@link ARCHITECTURES}. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  'x86-64': 'amd64',
  aarch64: 'arm64',
  armhf: 'arm',
  i386: '386',
};
const USUAL_VARIANTS: Readonly<Record<string, string>> = { arm64: 'v8', arm: 'v7' };

/**
 * `linux/arm64`, `linux/arm/v6`, or `arm64` alone, as `docker pull --platform` takes it. Throws INVALID_ARGUMENT.
 *
 * Source: https://github.com/containerd/platforms
 */
export function parsePlatform(text: string): Platform {
  const parts = text.toLowerCase().split('/');
  if (parts.length === 1) parts.unshift('linux');
  const [os = '', named = '', given] = parts;
  if (parts.length > 3 || !parts.every((part) => /^[a-z0-9_.-]+$/.test(part)))
    throw invalidArgument(`"${text.slice(0, 100)}" is no platform such as linux/arm64 or linux/arm/v7`);
  const architecture = OTHER_NAMES[named] ?? named;
  const variant = given ?? USUAL_VARIANTS[architecture];
  return { os, architecture, ...(variant !== undefined && { variant }) };
}

/**
 * How well something made for `offered` runs on `wanted`: the higher the better, undefined for not at all.
 *
 * What an offer does not say fits, and less well than what it says rightly. Of arm's variants the lower ones run on the
 * higher ones.
 */
export function rankPlatform(offered: Platform, wanted: Platform): number | undefined {
  let rank = 0;
  for (const part of ['os', 'architecture'] as const) {
    if (offered[part] === undefined) continue;
    if (offered[part] !== wanted[part]) return undefined;
    rank += 100;
  }
  if (offered.variant === undefined) return rank;
  const [has, needs] = [versionOf(offered.variant), versionOf(wanted.variant)];
  // amd64's variants say which instructions are needed; nobody here knows what the processor has beyond the first.
  if (offered.architecture === 'amd64') return has <= 1 ? rank : undefined;
  return has <= needs ? rank + has : undefined;
}

/** `v8` is 8; what has no number fits nowhere. */
function versionOf(variant: string | undefined): number {
  const version = Number(/^v(\d+)/.exec(variant ?? '')?.[1]);
  return Number.isNaN(version) ? Infinity : version;
}

/** `linux/arm64/v8`, for people. */
export function toPlatformText({ os = '?', architecture = '?', variant }: Platform): string {
  return [os, architecture, ...(variant === undefined ? [] : [variant])].join('/');
}
