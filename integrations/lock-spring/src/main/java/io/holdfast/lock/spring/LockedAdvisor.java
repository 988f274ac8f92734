package io.holdfast.lock.spring;

import java.lang.reflect.Method;
import org.aopalliance.aop.Advice;
import org.aopalliance.intercept.MethodInterceptor;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.annotation.AnnotationUtils;

/** The advice of locked methods, and its place among other advice. */
final class LockedAdvisor extends AbstractPointcutAdvisor {
  private static final long serialVersionUID = 1;

  private final transient Pointcut pointcut = new LockedPointcut();
  private final transient LockedMethods methods;

  LockedAdvisor(LockedMethods methods, int order) {
    this.methods = methods;
    setOrder(order);
  }

  @Override
  public Pointcut getPointcut() {
    return pointcut;
  }

  @Override
  public Advice getAdvice() {
    MethodInterceptor interceptor = call -> {
      Object target = call.getThis();
      Class<?> targetClass =
          target == null ? call.getMethod().getDeclaringClass() : AopUtils.getTargetClass(target);
      return methods.get(call.getMethod(), targetClass).call(call);
    };
    return interceptor;
  }

  private static final class LockedPointcut extends StaticMethodMatcherPointcut {
    LockedPointcut() {
      setClassFilter(type -> AnnotationUtils.isCandidateClass(type, Locked.class));
    }

    @Override
    public boolean matches(Method method, Class<?> targetClass) {
      return Annotated.find(method, targetClass) != null;
    }
  }
}
