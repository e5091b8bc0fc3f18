package anthropic

import (
	"cmp"
	"strings"

	"takeback/engine"
)

// known are the models whose limits and prices are known; an alias stands for the newest of its
// family. Sources, read on 2026-11-30: https://platform.claude.com/docs/en/models/overview and the page of
// each model there; ids from the Go SDK v2.15.0. Cache writes are those that
// last five minutes. Haiku 5.5 costs five times as much for prompts over 100,000 tokens, which
// one price cannot say.
var known = []engine.ModelInfo{
	{Value: "sonnet", ResolvedModel: "claude-sonnet-5-5", DisplayName: "Sonnet 5.5", Description: "Balances speed and intelligence",
		ContextWindow: 1_000_000, MaxOutputTokens: 128_000, InputPrice: 2, OutputPrice: 10, CacheWritePrice: 2.50, CacheReadPrice: 0.10},
	{Value: "opus", ResolvedModel: "claude-opus-5-5", DisplayName: "Opus 5.5", Description: "For long and complex work",
		ContextWindow: 1_000_000, MaxOutputTokens: 128_000, InputPrice: 4, OutputPrice: 20, CacheWritePrice: 5, CacheReadPrice: 0.20},
	{Value: "haiku", ResolvedModel: "claude-haiku-5-5", DisplayName: "Haiku 5.5", Description: "Fastest, for simple work",
		ContextWindow: 1_000_000, MaxOutputTokens: 128_000, InputPrice: 0.10, OutputPrice: 0.50, CacheWritePrice: 0.125, CacheReadPrice: 0.01},
	{Value: "claude-opus-5", ResolvedModel: "claude-opus-5", DisplayName: "Opus 5", Description: "Previous Opus",
		ContextWindow: 1_000_000, MaxOutputTokens: 128_000, InputPrice: 5, OutputPrice: 25, CacheWritePrice: 6.25, CacheReadPrice: 0.50},
	{Value: "claude-sonnet-5", ResolvedModel: "claude-sonnet-5", DisplayName: "Sonnet 5", Description: "Previous Sonnet",
		ContextWindow: 1_000_000, MaxOutputTokens: 128_000, InputPrice: 2, OutputPrice: 10, CacheWritePrice: 2.50, CacheReadPrice: 0.20},
	{Value: "claude-haiku-4-5", ResolvedModel: "claude-haiku-4-5", DisplayName: "Haiku 4.5", Description: "Previous Haiku",
		ContextWindow: 200_000, MaxOutputTokens: 64_000, InputPrice: 1, OutputPrice: 5, CacheWritePrice: 1.25, CacheReadPrice: 0.10},
}

// unknown is assumed of a model of which only the name is known. Its answers are
// as long as every model of the last years can give; it costs nothing, rather than something made up.
var unknown = engine.ModelInfo{ContextWindow: 200_000, MaxOutputTokens: 32_000}

func (m *model) Models() []engine.ModelInfo {
	preset := m.resolve("default")
	preset.Value, preset.DisplayName = "default", "Default ("+preset.DisplayName+")"
	return append([]engine.ModelInfo{preset}, known...)
}

// resolve finds a model by alias or by name. A name that is not known is given to the endpoint as it is.
func (m *model) resolve(name string) engine.ModelInfo {
	if name == "" || name == "default" {
		name = cmp.Or(m.options.Model, "sonnet")
	}
	name = strings.TrimSuffix(name, "[1m]") // asks for a window that these models have anyway
	for _, info := range known {
		if name == info.Value || name == info.ResolvedModel {
			return info
		}
	}
	info := unknown
	info.Value, info.ResolvedModel, info.DisplayName, info.Description = name, name, name, "As named"
	return info
}
