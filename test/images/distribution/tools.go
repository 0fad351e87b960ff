//go:build tools

package distribution

import _ "github.com/distribution/distribution/v3/cmd/registry"
