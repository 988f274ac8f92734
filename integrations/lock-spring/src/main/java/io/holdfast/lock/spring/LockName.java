package io.holdfast.lock.spring;

import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.common.TemplateParserContext;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.FunctionReference;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/**
 * The name of a lock as a template over the parameters of its method.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class LockName {
  private static final SpelExpressionParser PARSER = new SpelExpressionParser();
  private static final ParameterNameDiscoverer PARAMETERS = new DefaultParameterNameDiscoverer();

  /** Texts that would be variables in other template languages. */
  private static final Pattern LOOKS_LIKE_A_VARIABLE =
      Pattern.compile("#(?<hash>[A-Za-z_]\\w*)|\\{(?<braces>[A-Za-z_][\\w.]*)}|%(\\d+\\$)?[sd]");

  /** Variables that every expression has. */
  private static final List<String> BUILT_IN = List.of("this", "root");

  private final Place place;
  private final List<Expression> parts;

  private LockName(Place place, List<Expression> parts) {
    this.place = place;
    this.parts = parts;
  }

  /**
   * Parses a template whose property placeholders were replaced.
   *
   * @throws InvalidLockedMethodException it is blank, is no template, or has a variable that the
   *     method has no parameter for
   */
  static LockName parse(Place place, String template) {
    if (template.isBlank()) {
      throw place.invalid(
          "name", "there is no name", "say @Locked(\"orders/#{#id}\"), for example");
    }
    try {
      Expression parsed = PARSER.parseExpression(template, new TemplateParserContext());
      List<Expression> parts = parsed instanceof CompositeStringExpression composite
          ? List.of(composite.getExpressions())
          : List.of(parsed);
      parts.forEach(part -> check(place, part));
      return new LockName(place, parts);
    } catch (ParseException e) {
      throw place.invalid(
          "name",
          "'" + template + "' is not a template (" + e.getSimpleMessage() + ")",
          "write expressions as #{#parameter}");
    }
  }

  private static void check(Place place, Expression part) {
    if (part instanceof LiteralExpression literal) {
      Matcher matcher = LOOKS_LIKE_A_VARIABLE.matcher(literal.getExpressionString());
      if (matcher.find()) {
        throw place.invalid(
            "name",
            "'" + matcher.group() + "' is plain text, so that all calls would have one lock",
            "write #{#" + variable(matcher) + "}");
      }
    } else if (part instanceof SpelExpression expression) {
      check(place, part.getExpressionString(), expression.getAST());
    }
  }

  private static String variable(Matcher matcher) {
    String hash = matcher.group("hash");
    String braces = matcher.group("braces");
    return hash != null ? hash : braces != null ? braces : "parameter";
  }

  private static void check(Place place, String expression, SpelNode node) {
    if (node instanceof VariableReference) {
      checkVariable(place, expression, node.toStringAST().substring(1));
    } else if (node instanceof FunctionReference) {
      throw place.invalid(
          "name",
          "#{" + expression + "} calls a function that does not exist",
          "call a method of a parameter");
    }
    for (int i = 0; i < node.getChildCount(); i++) {
      check(place, expression, node.getChild(i));
    }
  }

  private static void checkVariable(Place place, String expression, String variable) {
    if (BUILT_IN.contains(variable) || isByPosition(place, variable)) {
      return;
    }
    @Nullable String @Nullable [] names = PARAMETERS.getParameterNames(place.method());
    if (names == null) {
      throw place.invalid(
          "name",
          "#{" + expression + "} refers to a parameter by its name, and the class has no names of"
              + " parameters",
          "compile it with -parameters, or write #p0 for the first one");
    }
    if (!Arrays.asList(names).contains(variable)) {
      throw place.invalid(
          "name",
          "#{" + expression + "} refers to #" + variable + ", and the method has no such parameter",
          names.length == 0
              ? "choose a name without parameters"
              : "take one of #" + String.join(", #", names));
    }
  }

  /** Whether the variable names a parameter by its position, as p0 or a0. */
  private static boolean isByPosition(Place place, String variable) {
    return variable.matches("[pa]\\d{1,3}")
        && Integer.parseInt(variable.substring(1)) < place.method().getParameterCount();
  }

  /** Whether the name is the same for all calls. */
  boolean isConstant() {
    return parts.stream().allMatch(LiteralExpression.class::isInstance);
  }

  /** Returns the name that is the same for all calls. */
  String constant() {
    return parts.stream().map(Expression::getExpressionString).collect(Collectors.joining());
  }

  /**
   * Evaluates the name for a call.
   *
   * @throws IllegalArgumentException an expression can't be evaluated, or has no text
   */
  String of(MethodInvocation call) {
    EvaluationContext context = new MethodBasedEvaluationContext(
        call.getThis(), place.method(), call.getArguments(), PARAMETERS);
    return parts.stream().map(part -> evaluate(part, context)).collect(Collectors.joining());
  }

  private String evaluate(Expression part, EvaluationContext context) {
    String text;
    try {
      text = part.getValue(context, String.class);
    } catch (EvaluationException e) {
      throw new IllegalArgumentException(
          failed(part) + " can't be evaluated (" + e.getSimpleMessage() + "); nothing was locked",
          e);
    }
    if (text == null || text.isEmpty()) {
      throw new IllegalArgumentException(failed(part)
          + " is "
          + (text == null ? "null" : "empty text")
          + "; nothing was locked: check the argument before the call");
    }
    return text;
  }

  private String failed(Expression part) {
    return place + ": #{" + part.getExpressionString() + "} in the name of its lock";
  }
}
