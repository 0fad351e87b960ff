/** For vitest: #base and the other names of areas are sources, not the build. */
export const FROM_SOURCES = {
  resolve: { conditions: ['podloop-source', 'module', 'node', 'development|production'] },
};
