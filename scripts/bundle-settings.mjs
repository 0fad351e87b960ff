// What the bundles of the program and of the library have in common.

/** Has a binary for each platform, which it finds from where it lies. */
const WITH_NATIVE_CODE = 'classic-level';
/** What gRPC has for services that nobody here has, and what ws would use if somebody had installed it. */
const RARE = ['@grpc/proto-loader', 'bufferutil', 'utf-8-validate'];

/** How code is minified that nobody reads. Names of functions and classes stay, for stacks. */
export const MINIFIED = {
  compress: { keepNames: { function: true, class: true } },
  mangle: { keepNames: true, toplevel: false },
  codegen: { removeWhitespace: true },
};

/** For rolldown. */
export const SETTINGS = {
  platform: 'node',
  external: [WITH_NATIVE_CODE, ...RARE],
  // What is imported for its types alone leaves an import behind that nobody needs: no module of ours does anything when loaded.
  treeshake: {
    moduleSideEffects: [{ test: /^(?!.*[\\/]node_modules[\\/])/, external: false, sideEffects: false }],
  },
};
