package harness;

import io.agentscope.core.ReActAgent;
import io.agentscope.core.hook.Hook;
import io.agentscope.core.hook.HookEvent;
import io.agentscope.core.hook.PostReasoningEvent;
import io.agentscope.core.message.ToolUseBlock;
import io.agentscope.core.model.OpenAIChatModel;
import io.agentscope.core.model.ToolSchema;
import io.agentscope.core.tool.Tool;
import io.agentscope.core.tool.ToolParam;
import io.agentscope.core.tool.Toolkit;
import io.agentscope.spring.boot.agui.common.AguiAgentRegistryCustomizer;
import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

/** The agents, one a path, with scripted models behind them. See README.md. */
@Configuration
public class Agents {

    /** The paths whose agents have nothing that is not every agent's. */
    private static final List<String> PLAIN =
            List.of(
                    "one-turn",
                    "three-turns",
                    "reasoning",
                    "model-error",
                    "long-stream",
                    "unicode",
                    "parent-run",
                    "snapshot-off",
                    "multimodal",
                    "refused",
                    "long-reply",
                    "no-ids",
                    "empty-ids",
                    "chat");

    @Bean
    AguiAgentRegistryCustomizer registry(@Value("${models}") String models) {
        Toolkit weather = new Toolkit();
        weather.registerTool(new Weather());
        Toolkit files = new Toolkit();
        files.registerTool(new Files());
        Toolkit client = new Toolkit();
        client.registerSchema(CHOOSE_COLOR);
        return registry -> {
            for (String path : PLAIN) {
                registry.registerFactory(path, () -> agent(models, path).build());
            }
            registry.registerFactory(
                    "backend-tool", () -> agent(models, "backend-tool").toolkit(weather).build());
            registry.registerFactory(
                    "client-tool", () -> agent(models, "client-tool").toolkit(client).build());
            registry.registerFactory(
                    "confirmation",
                    () -> agent(models, "confirmation").toolkit(files).hook(CONFIRM).build());
        };
    }

    private static ReActAgent.Builder agent(String models, String script) {
        OpenAIChatModel model =
                OpenAIChatModel.builder().baseUrl(models).apiKey("none").modelName(script).stream(true)
                        .build();
        return ReActAgent.builder().name("guide").sysPrompt("Answer briefly.").model(model);
    }

    /** Puts a scenario's path into the starter's own: /one-turn becomes /agui/run/one-turn. */
    @Bean
    WebFilter paths() {
        return (exchange, chain) -> {
            String path = "/agui/run" + exchange.getRequest().getPath().value();
            return chain.filter(exchange.mutate().request(request -> request.path(path)).build());
        };
    }

    public static class Weather {

        @Tool(name = "get_weather", description = "Returns the weather in a city.")
        public Report getWeather(@ToolParam(name = "city") String city) {
            return new Report(city, 4, "rain");
        }

        public record Report(String city, int celsius, String sky) {}
    }

    public static class Files {

        @Tool(
                name = "delete_file",
                description = "Deletes a file; the user has to confirm it first. Nothing is deleted.")
        public String deleteFile(@ToolParam(name = "path") String path) {
            return path;
        }
    }

    /** Stops an agent whose model called a tool, before the tool runs. */
    private static final Hook CONFIRM =
            new Hook() {
                @Override
                public <T extends HookEvent> Mono<T> onEvent(T event) {
                    if (event instanceof PostReasoningEvent reasoned
                            && reasoned.getReasoningMessage().hasContentBlocks(ToolUseBlock.class)) {
                        reasoned.stopAgent();
                    }
                    return Mono.just(event);
                }
            };

    /** A tool without a function: a call of it suspends the agent. */
    private static final ToolSchema CHOOSE_COLOR =
            ToolSchema.builder()
                    .name("choose_color")
                    .description("Lets the user choose a color.")
                    .parameters(
                            Map.of(
                                    "type",
                                    "object",
                                    "properties",
                                    Map.of("options", Map.of("type", "array", "items", Map.of("type", "string"))),
                                    "required",
                                    List.of("options")))
                    .build();
}
