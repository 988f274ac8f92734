package io.holdfast.lock.spring;

import java.util.List;
import java.util.stream.Collectors;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.common.TemplateParserContext;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/**
 * The name of a lock as a template over the parameters of its method.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class LockName {
  private static final SpelExpressionParser PARSER = new SpelExpressionParser();

  private final Place place;
  private final List<Expression> parts;

  private LockName(Place place, List<Expression> parts) {
    this.place = place;
    this.parts = parts;
  }

  /**
   * Parses a template whose property placeholders were replaced.
   *
   * @throws InvalidLockedMethodException it is blank, is no template, or has an expression that no
   *     call can have, or that is the same for all calls
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
      NameExpression.checkText(place, literal.getExpressionString());
    } else if (part instanceof SpelExpression expression) {
      NameExpression.check(place, part.getExpressionString(), expression.getAST());
    }
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
    // No root object: #{id} would be a property of the bean, and the same for all calls.
    EvaluationContext context = new MethodBasedEvaluationContext(
        null, place.method(), call.getArguments(), NameExpression.PARAMETERS);
    return parts.stream().map(part -> evaluate(part, context)).collect(Collectors.joining());
  }

  private String evaluate(Expression part, EvaluationContext context) {
    Object value;
    try {
      value = part.getValue(context);
    } catch (EvaluationException e) {
      throw new IllegalArgumentException(
          failed(part) + " can't be evaluated (" + e.getSimpleMessage() + "); nothing was locked",
          e);
    }
    if (value != null && !NameText.isOf(value)) {
      throw new IllegalArgumentException(failed(part)
          + " is a "
          + value.getClass().getName()
          + ", which has no text that is the same on every machine; nothing was locked: "
          + NameText.REMEDY);
    }
    String text = value == null ? "" : NameText.of(value);
    if (text.isEmpty()) {
      throw new IllegalArgumentException(failed(part)
          + " is "
          + (value == null ? "null" : "empty text")
          + "; nothing was locked: check the argument before the call");
    }
    return text;
  }

  private String failed(Expression part) {
    return place + ": #{" + part.getExpressionString() + "} in the name of its lock";
  }
}
