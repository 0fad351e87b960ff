/** Three numbers without leading zeros, then the optional parts of Semantic Versioning. */
const SEMANTIC = /^v?((?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-[\dA-Za-z.-]+)?(?:\+[\dA-Za-z.-]*)?)$/;
/** Leading numbers; the rest is ignored. */
const NUMBERS = /^v?(\d+(?:\.\d+)*)/;

/**
 * The runtime and its version as a kubelet reports them for its node: `containerd://2.1.0`.
 *
 * If the whole is no semantic version, as in `1.7.24~ds1`, only the leading numbers stay. A text that does
 * not begin with a number stays as it is.
 *
 * Kubernetes: `status.nodeInfo.containerRuntimeVersion` of a Node; CRI: `runtime_name` and `runtime_version`
 * of VersionResponse.
 */
export function formatRuntimeVersion(name: string, version: string): string {
  const trimmed = version.trim();
  const [, known = trimmed] = SEMANTIC.exec(trimmed) ?? NUMBERS.exec(trimmed) ?? [];
  return `${name}://${known}`;
}
