// Imported before CopilotKit's runtime, which otherwise reports to a service.
process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
process.env.DO_NOT_TRACK = "1";
