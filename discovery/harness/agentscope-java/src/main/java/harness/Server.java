package harness;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.server.context.WebServerInitializedEvent;
import org.springframework.context.ApplicationListener;
import sun.misc.Signal;

/**
 * Serves the agents on 127.0.0.1, with the scripted models in a child process.
 *
 * <p>When it accepts connections, it prints "listening on http://127.0.0.1:PORT". The log goes to
 * standard error. On SIGTERM, it stops the models and exits with status 0.
 */
@SpringBootApplication
public class Server {

    public static void main(String[] args) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err); // Spring Boot logs to standard output

        for (String name : List.of("TERM", "INT")) {
            Signal.handle(new Signal(name), signal -> Runtime.getRuntime().exit(0));
        }
        String port = args.length == 2 && args[0].equals("--port") ? args[1] : "0"; // 0 takes a free port

        SpringApplication application = new SpringApplication(Server.class);
        application.setRegisterShutdownHook(false); // it would wait for open streams
        application.setDefaultProperties(Map.of("server.port", port, "models", startModels()));
        application.addListeners(
                (ApplicationListener<WebServerInitializedEvent>)
                        event -> out.println("listening on http://127.0.0.1:" + event.getWebServer().getPort()));
        application.run();
    }

    /** Starts the models; returns their base URL. They end with this process, and it with them. */
    private static String startModels() throws IOException {
        Process models =
                new ProcessBuilder("python3", "-B", "../endpoint.py")
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        Runtime.getRuntime().addShutdownHook(new Thread(models::destroy));
        models.onExit().thenAccept(ended -> Runtime.getRuntime().exit(ended.exitValue()));
        try (BufferedReader reader = models.inputReader()) {
            return reader.readLine().replace("listening on ", "");
        }
    }
}
