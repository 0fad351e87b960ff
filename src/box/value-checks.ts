/**
 * What no text and no number of a request may be: too long, of more than one line, or a choice that does not exist.
 *
 * Agents send none of this. Whatever does is refused with the field's name, as else half of it would be done, or
 * something that nobody has asked for: a second line in resolv.conf, a mode that is taken for another one.
 *
 * @module
 */
import {
  NamespaceMode,
  SecurityProfile_ProfileType,
  Signal,
  SupplementalGroupsPolicy,
  type ContainerConfig,
  type DNSConfig,
  type LinuxContainerSecurityContext,
  type NamespaceOption,
  type PodSandboxConfig,
} from '#watch/messages';
import { invalidArgument } from './rpc-error.js';

/** Several times what Kubernetes allows for any name. */
const MAX_NAME_LENGTH = 1024;
/** More than any sysctl of a namespace has. */
const MAX_VALUE_LENGTH = 4096;
/** What Linux has room for; see sethostname(2). */
const MAX_HOSTNAME_LENGTH = 64;
/** A label of RFC 1123, in capitals too. */
const LABEL = /^[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$/;
const CONTROL = /[\0-\x1f\x7f]/;
/** A tab stands between the numbers of some sysctls. */
const CONTROL_BUT_TAB = /[\0-\x08\n-\x1f\x7f]/;

/** Throws INVALID_ARGUMENT for values that no sandbox can have. */
export function checkSandboxValues(config: PodSandboxConfig): void {
  const { metadata, hostname, dnsConfig, linux } = config;
  if (metadata !== undefined) {
    const { name, namespace, uid } = metadata;
    if (name + namespace + uid === '') throw invalidArgument('metadata has no name, namespace and uid');
    checkText('metadata.name', name);
    checkText('metadata.namespace', namespace);
    checkText('metadata.uid', uid);
  }
  checkPath('log_directory', config.logDirectory);
  checkHostname(hostname);
  if (dnsConfig !== undefined) checkDns(dnsConfig);
  for (const [name, value] of Object.entries(linux?.sysctls ?? {})) {
    checkText('a sysctl’s name', name);
    const field = `the value of sysctl "${name}"`;
    if (value.length > MAX_VALUE_LENGTH) throw tooLong(field, value, MAX_VALUE_LENGTH);
    if (CONTROL_BUT_TAB.test(value))
      throw invalidArgument(`${field} holds a line break or a control character`);
  }
  checkContext(linux?.securityContext);
}

/** Throws INVALID_ARGUMENT for values that no container can have. */
export function checkContainerValues(config: ContainerConfig): void {
  const { metadata, linux, stopSignal } = config;
  if (metadata !== undefined) {
    if (metadata.name === '') throw invalidArgument('metadata.name is empty');
    checkText('metadata.name', metadata.name);
  }
  checkPath('log_path', config.logPath);
  checkChoice('stop_signal', stopSignal, Signal);
  checkContext(linux?.securityContext);
}

/** By RFC 1123, as a single label or as a name with dots. */
function checkHostname(hostname: string): void {
  if (hostname === '') return;
  if (hostname.length > MAX_HOSTNAME_LENGTH) throw tooLong('hostname', hostname, MAX_HOSTNAME_LENGTH);
  if (!hostname.split('.').every((label) => LABEL.test(label)))
    throw invalidArgument(
      `hostname ${JSON.stringify(hostname)} is no name of a host: labels of letters, digits and inner dashes are`,
    );
}

/** One word each: with a line break in it there would be more lines than anybody asked for. */
function checkDns({ servers, searches, options }: DNSConfig): void {
  for (const [field, words] of Object.entries({ servers, searches, options })) {
    for (const word of words) {
      checkText(`dns_config.${field}`, word);
      if (word === '' || /\s/.test(word))
        throw invalidArgument(`dns_config.${field} has ${JSON.stringify(word)}, which is not one word`);
    }
  }
}

type Context = Partial<
  Pick<
    LinuxContainerSecurityContext,
    'namespaceOptions' | 'seccomp' | 'apparmor' | 'supplementalGroupsPolicy'
  >
>;

function checkContext(context: Context | undefined): void {
  if (context === undefined) return;
  checkNamespaces(context.namespaceOptions);
  const { seccomp, apparmor, supplementalGroupsPolicy = SupplementalGroupsPolicy.Merge } = context;
  checkChoice('seccomp.profile_type', seccomp?.profileType ?? 0, SecurityProfile_ProfileType);
  checkChoice('apparmor.profile_type', apparmor?.profileType ?? 0, SecurityProfile_ProfileType);
  checkChoice('supplemental_groups_policy', supplementalGroupsPolicy, SupplementalGroupsPolicy);
}

function checkNamespaces(options: NamespaceOption | undefined): void {
  if (options === undefined) return;
  const { network, pid, ipc, usernsOptions } = options;
  const modes = { network, pid, ipc, userns: usernsOptions?.mode ?? NamespaceMode.POD };
  for (const [name, mode] of Object.entries(modes))
    checkChoice(`namespace_options.${name}`, mode, NamespaceMode);
}

function checkChoice(field: string, value: number, choices: Readonly<Record<string, number>>): void {
  if (!Object.values(choices).includes(value)) throw invalidArgument(`${field} cannot be ${value}`);
}

function checkText(field: string, text: string): void {
  if (text.length > MAX_NAME_LENGTH) throw tooLong(field, text, MAX_NAME_LENGTH);
  if (CONTROL.test(text))
    throw invalidArgument(`${field} holds a NUL, a line break or another control character`);
}

/** The kernel's own limit, and the only byte that no path has. */
function checkPath(field: string, path: string): void {
  if (path.length > MAX_VALUE_LENGTH) throw tooLong(field, path, MAX_VALUE_LENGTH);
  if (path.includes('\0')) throw invalidArgument(`${field} holds a NUL byte`);
}

function tooLong(field: string, text: string, longest: number): Error {
  return invalidArgument(`${field} has ${text.length} characters; ${longest} are allowed`);
}
