import { GrpcStatusError } from '../cri/index.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';

/** The runtime's error as the kubelet prints it: `rpc error: code = NotFound desc = …`. Never throws. */
export function quoteRuntimeError(error: unknown): string {
  const said = grpcErrorIn(error);
  return said === undefined ? messageOf(error) : said.message;
}

/** The description alone, without gRPC's words around it. Never throws. */
export function describeRuntimeError(error: unknown): string {
  const said = grpcErrorIn(error);
  return said === undefined || said.details === '' ? messageOf(error) : said.details;
}

function grpcErrorIn(error: unknown): GrpcStatusError | undefined {
  if (error instanceof GrpcStatusError) return error;
  if (!(error instanceof PodloopError)) return undefined;
  return grpcErrorIn(error.cause);
}
